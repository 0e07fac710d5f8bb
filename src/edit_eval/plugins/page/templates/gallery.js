// The cards: one page of them at a time, made when they come into view.
const CARDS_A_PAGE = 24;
const cards = document.getElementById('cards');
const pages = document.getElementById('pages');

let chosen = [];
let pageNumber = 0;

function tile(frame, caption, edit, wanted) {
  return make('figure', { class: 'tile' }, frame,
    make('figcaption', {}, edit && edit.status === 'ok' ? scoreLabel(edit, wanted) : null, caption));
}

function card({ sample, edits }, wanted, state = filtersNow()) {
  const { view } = wanted;
  const tiles = edits.map((edit) => {
    const several = sample.edits.length > 1;
    const name = several ? make('span', { class: 'model', title: editName(sample, edit) }, editName(sample, edit)) : say('span', "Edit", [], { class: 'model' });
    const made = tile(editFrame(sample, edit, view), name, edit, wanted);
    if (several) made.dataset.right = pictureName(sample, edit);
    return made;
  });
  if (view === 'beside' || !edits.length) {
    tiles.unshift(tile(sourceFrame(sample), say('span', "Source", [], { class: 'model' })));
  }
  const made = make('article', { class: 'card' },
    make('div', { class: 'tiles' }, ...tiles),
    make('p', { class: 'instruction' }, sayWords('a', instructionOf(sample), { href: linkTo(sample, {}, state) })),
    make('p', { class: 'about' },
      sayWords('span', nameOf('category', sample.category)),
      sample.difficulty ? sayWords('span', nameOf('difficulty', sample.difficulty)) : null,
      make('span', { class: 'id', title: sample.id }, sample.id)));
  if (sample.fault) made.append(make('p', { class: 'fault' }, sample.fault));
  const row = made.querySelector('.tiles').style;
  row.setProperty('--tiles', tiles.length);
  row.setProperty('--few', tiles.length < 4 ? tiles.length : tiles.length === 4 ? 2 : 3); // on a phone
  const shape = shapeOf(sample);
  if (shape) made.style.setProperty('--shape', shape);
  made.addEventListener('click', (event) => {
    const { right } = (event.target.closest('.tile') || made).dataset; // the edit that was clicked
    if (!event.target.closest('a, input')) go(linkTo(sample, right ? { left: 'source', right } : {}));
  });
  return made;
}

function instructionOf(sample) {
  const either = sample.instruction || Object.values(sample.instructions).find(Boolean) || sample.id;
  return inEach((code) => sample.instructions[code] || either);
}

function showPage(number, most = CARDS_A_PAGE) {
  const count = Math.max(1, Math.ceil(chosen.length / most));
  pageNumber = Math.min(Math.max(0, number), count - 1);
  const wanted = wantedNow();
  const { view } = wanted;
  const shown = chosen.slice(pageNumber * most, (pageNumber + 1) * most);
  cards.dataset.view = view;
  cards.style.setProperty('--tiles', Math.max(1, ...shown.map(({ edits }) => edits.length + (view === 'beside' ? 1 : 0))));
  const state = filtersNow();
  cards.replaceChildren(...shown.map((one) => card(one, wanted, state)));
  if (!shown.length) cards.append(say('p', "No sample matches these filters.", [], { class: 'empty' }));
  pages.hidden = count < 2;
  const [previous, next] = pages.querySelectorAll('button');
  previous.disabled = pageNumber === 0;
  next.disabled = pageNumber === count - 1;
  pages.querySelector('p').replaceChildren(say('span', "Page {} of {}", [pageNumber + 1, count]));
}

// Which scores are shown, and by which judge, if there are several.
function judgedBy({ judge, score }) {
  const said = data.judges.length > 1 ? [' · ', say('span', "judged by {}", [judge])] : [];
  const several = Object.keys(data.scoring[judge].scores).length > 1;
  return several ? [...said, ' · ', sayWords('span', scaleOf(judge, score).title)] : said;
}

function showChosen(page = 0) {
  const wanted = wantedNow();
  chosen = chosenSamples(wanted);
  document.getElementById('gallery-count').replaceChildren(
    say('span', "{} of {} samples", [chosen.length, data.samples.length]), ...judgedBy(wanted));
  showPage(page);
}

// Frames have the shape of the sample's first edit, to leave little empty room, within limits that suit a grid.
function shapeOf(sample) {
  const edit = sample.edits.find((one) => one.height);
  return edit && Math.min(1.78, Math.max(0.75, edit.width / edit.height)).toFixed(3);
}

function startGallery() {
  fillFilters();
  filters.addEventListener('input', ({ target }) => {
    if (target.name === 'judge') fillScores();
    if (['judge', 'score'].includes(target.name)) {
      scoreChanged();
      return;
    }
    showChosen();
    if (target.matches('select')) writeAddress({ push: true });
    else writeAddressSoon();
  });
  // Chips and view are outside the form; changing the view keeps the page of cards.
  document.getElementById('gallery').addEventListener('input', ({ target }) => {
    if (!['view', 'show'].includes(target.name)) return;
    if (target.name === 'view') showPage(pageNumber);
    else showChosen();
    writeAddress({ push: target.name === 'show' });
  });
  filters.addEventListener('submit', (event) => event.preventDefault());
  // A form is empty only after its reset event.
  filters.addEventListener('reset', () => setTimeout(() => {
    fillScores();
    showChosen();
    writeAddress({ push: true });
  }));
  pages.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    showPage(pageNumber + Number(button.value));
    writeAddress({ push: true });
    showGallery();
  });
  showChosen();
}

// The pictures of the verdict's rows: links whose two sides are named as in an address.
function sideFrame(sample, side) {
  if (side === 'source') return sourceFrame(sample);
  const found = pictureNamed(sample, side);
  return found ? editFrame(sample, found.edit, 'beside') : placeholder(MISSING.no_edit, '', '');
}

function startVerdict() {
  const samples = new Map(data.samples.map((sample) => [sample.id, sample]));
  for (const place of document.querySelectorAll('.look-pictures')) {
    const sample = samples.get(place.dataset.sample);
    if (!sample) continue;
    const sides = [...new Set([place.dataset.left, place.dataset.right])];
    place.replaceChildren(...sides.map((side) => sideFrame(sample, side)));
  }
}
