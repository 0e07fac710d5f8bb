// The pictures of the verdict's rows: links whose two sides are named as in an address.
function sideFrame(sample, side) {
  if (side === 'source') return sourceFrame(sample);
  const found = pictureNamed(sample, side);
  return found ? editFrame(sample, found.edit, 'beside') : placeholder(MISSING.no_edit, '', '');
}

function startVerdict() {
  // On a narrow screen the sentences of three judges or more would fill the screen.
  const said = document.querySelector('.each-judge:has(div:nth-child(3))');
  if (said && matchMedia('(max-width: 1000px)').matches) said.open = false;
  const samples = new Map(data.samples.map((sample) => [sample.id, sample]));
  for (const place of document.querySelectorAll('.look-pictures')) {
    const sample = samples.get(place.dataset.sample);
    if (!sample) continue;
    const sides = [...new Set([place.dataset.left, place.dataset.right])];
    place.replaceChildren(...sides.map((side) => sideFrame(sample, side)));
  }
}
