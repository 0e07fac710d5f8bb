// One sample, large: opened by its address, closed with Escape, browsed with the keyboard.
const detail = document.getElementById('detail');
const WAYS = ['beside', 'slider', 'difference', 'flip'];
const BADGES = { left: "Left", right: "Right" };
const SIDES = ['left', 'right'];
// What is open: names of two pictures (see `picturesOf`), and the way to compare them, if the reader chose one.
// `picked`: the reader chose the two.
const shown = { sample: null, left: 'source', right: '', way: '', picked: false };

function wayNow() {
  return shown.way || WAYS[0];
}

// For the address: what is needed to see the same detail again.
function openNow() {
  if (!shown.sample) return {};
  const { left, right } = shown;
  const near = (number) => Number(number.toFixed(4));
  const enlarged = look.zoom === null ? {} : { zoom: near(look.zoom), at: `${near(look.x)},${near(look.y)}` };
  return { sample: shown.sample.id, left, right, way: wayNow(), ...enlarged };
}

// Opens a sample with the two pictures of an address, else the previous two, else its source and an edit that the
// filters match.
function openDetail(sample, asked = new URLSearchParams()) {
  const before = shown.right;
  shown.sample = sample;
  if (SIDES.some((side) => asked.get(side))) shown.picked = true;
  else if (shown.picked && !isAbout(sample, [shown.left, shown.right])) shown.picked = false;
  if (shown.picked) {
    shown.left = asked.get('left') || shown.left;
    shown.right = asked.get('right') || shown.right || defaultEdit(sample, before);
  } else Object.assign(shown, defaultSides(sample, before));
  if (WAYS.includes(asked.get('way'))) shown.way = asked.get('way');
  if (asked.has('sample')) {
    const zoom = Number(asked.get('zoom'));
    const [x, y] = (asked.get('at') || '').split(',').map(Number);
    const within = (number) => (number >= 0 && number <= 1 ? number : 0.5);
    Object.assign(look, { zoom: zoom > 0 && zoom <= MOST * 4 ? zoom : null, x: within(x), y: within(y) });
  }
  if (!detail.open) detail.showModal();
  document.getElementById('detail-close').before(share);
  showDetail();
}

// True if one of these is an edit that the filters match.
function isAbout(sample, names) {
  const { matching } = chosenOf(sample, wantedNow());
  return !matching.length || names.some((name) => matching.includes((pictureNamed(sample, name) || {}).edit));
}

// The source and an edit; where judges only compare, the edits of a battle.
function defaultSides(sample, before) {
  const { judge, outcome } = wantedNow();
  const battle = sample.battles.find((one) => !outcome || cameTo({ battles: [one] }, outcome)) || sample.battles[0];
  if (!battle || (judge && !outcome)) return { left: 'source', right: defaultEdit(sample, before) };
  const [left, right] = sidesOf(sample, battle);
  return { left, right };
}

// An edit that the filters match: the one that gives the sample its place in the order, else the previous one, else the
// first that can be shown.
function defaultEdit(sample, before) {
  const wanted = wantedNow();
  const { edits, matching, lowest, highest } = chosenOf(sample, wanted);
  const worst = scaleOf(wanted.judge, wanted.score).higher_is_better ? lowest : highest;
  const sought = { worst, best: worst === lowest ? highest : lowest }[wanted.show];
  const about = [matching, edits, sample.edits].find((some) => some.length) || [];
  const was = (pictureNamed(sample, before) || {}).edit;
  const edit = (sought !== undefined && about.find((one) => scoring(one, wanted).mean === sought && sought !== null))
    || about.find((one) => one === was) || about.find((one) => one.status === 'ok') || about[0];
  return edit ? pictureName(sample, edit) : 'source';
}

function walk() {
  const all = chosen.map((one) => one.sample);
  return all.includes(shown.sample) ? all : data.samples;
}

// The next sample with the same two pictures and zoom.
function step(by) {
  const all = walk();
  const next = all[all.indexOf(shown.sample) + by];
  if (!next) return;
  if (!shown.picked) Object.assign(shown, defaultSides(next, shown.right));
  shown.sample = next;
  showDetail();
}

function pick(side, name) {
  shown[side] = name;
  shown.picked = true;
  showDetail();
}

function showDetail() {
  const { sample } = shown;
  const all = walk();
  const place = all.indexOf(sample);
  flip(false);
  document.getElementById('detail-id').replaceChildren(make('a', { href: linkTo(sample) }, sample.id));
  document.getElementById('detail-place').replaceChildren(say('span', "{} of {}", [place + 1, all.length]));
  document.getElementById('detail-previous').disabled = place <= 0;
  document.getElementById('detail-next').disabled = place >= all.length - 1;
  document.getElementById('detail-asked').replaceChildren(sayWords('span', instructionOf(sample)));
  const way = showStage({ ...shown, way: wayNow() });
  for (const radio of document.querySelectorAll('#stage-ways input')) radio.checked = radio.value === way;
  document.getElementById('stage-ways').hidden = !way;
  document.getElementById('flip').hidden = !way;
  for (const side of SIDES) showSide(side);
  showChoices(sample);
  showWords(sample);
  writeAddress();
}

// The label of one side: the name of the picture and, for an edit, each judge's own score.
function showSide(side) {
  const { sample } = shown;
  const select = document.getElementById(`pick-${side}`);
  const names = picturesOf(sample).map(({ name }) => name);
  const found = pictureNamed(sample, shown[side]);
  const value = found ? found.name : shown[side];
  if (!found) names.push(value); // a picture that only another sample has: it stays chosen
  const offered = JSON.stringify(names.map((name) => [name, labelOf(sample, name)]));
  if (select.offered !== offered) select.replaceChildren(...names.map((name) => sayWords('option', labelOf(sample, name), { value: name })));
  select.offered = offered;
  select.value = value;
  const wanted = wantedNow();
  const edit = found && found.edit;
  const several = data.judges.length + data.battle_judges.length > 1;
  document.getElementById(`scores-${side}`).replaceChildren(...(edit && edit.status === 'ok' ? [...data.judges, ...data.battle_judges] : []).map((judge) => {
    const score = judge === wanted.judge ? wanted.score : data.scoring[judge].headline;
    const label = data.judges.includes(judge) ? scoreLabel(edit, { judge, score }) : wonLabel(edit, judge);
    return label && make('span', { class: 'of-judge' }, several ? sayJudge(judge) : null, ' ', label);
  }).filter(Boolean));
}

function showChoices(sample) {
  const choices = document.getElementById('choices');
  const all = picturesOf(sample);
  const wanted = wantedNow();
  const by = document.getElementById('choices-judge');
  choices.hidden = all.length < 3;
  const shownBy = judgedBy(wanted);
  by.hidden = choices.hidden || !shownBy.length;
  if (choices.hidden) {
    choices.replaceChildren();
    return;
  }
  by.replaceChildren(...shownBy.slice(1)); // without the separator before it
  const focused = [...choices.children].indexOf(document.activeElement);
  const names = SIDES.map((side) => (pictureNamed(sample, shown[side]) || {}).name);
  choices.replaceChildren(...all.map(({ name, picture, edit }) => {
    const nothing = nothingOf({ picture, edit });
    const frame = edit ? editFrame(sample, edit, 'beside') : nothing ? placeholder(...nothing)
      : make('div', { class: 'frame' }, image(picture, ...altOf(sample, name, { picture })));
    const sides = SIDES.filter((side, place) => names[place] === name);
    const button = make('button', { type: 'button', value: name, 'aria-pressed': String(sides.includes('right')), 'data-sides': sides.join(' ') },
      frame, ...sides.map((side) => say('span', BADGES[side], [], { class: `badge ${side}` })),
      make('span', { class: 'choice-label' }, sayWords('span', labelOf(sample, name), { class: 'model' }), edit ? scoreLabel(edit, wanted) : null));
    button.addEventListener('click', (event) => pick(event.shiftKey ? 'left' : 'right', name));
    return button;
  }));
  if (focused >= 0 && choices.children[focused]) choices.children[focused].focus();
}

function showWords(sample) {
  const panel = document.getElementById('detail-words');
  const found = SIDES.map((side) => pictureNamed(sample, shown[side])).filter((one) => one && one.edit);
  const edits = [...new Set(found.map((one) => one.edit))];
  const named = (edit) => labelOf(sample, pictureName(sample, edit));
  const others = SIDES.map((side) => pictureNamed(sample, shown[side])).filter((one) => one && !one.edit && one.name !== 'source' && one.picture.file);
  panel.replaceChildren(
    ...edits.map((edit) => make('section', { class: 'about-edit' },
      edits.length > 1 ? sayWords('h3', named(edit), { class: 'whose' }) : null, ...aboutEdit(edit))),
    ...aboutBattles(sample, edits), ...saidOf(sample), ...aboutRounds(sample, edits),
    ...edits.flatMap((edit) => [
      edits.length > 1 ? say('h3', "About the edit by {}", [named(edit)]) : say('h3', "About this edit"), ...toldWhat(edit), facts(sample, edit)]),
    ...aboutSample(sample),
    ...others.map(({ name, picture }) => make('p', {}, make('a', { href: picture.file, target: '_blank', rel: 'noopener' }, sayWords('span', labelOf(sample, name))))));
}

// -- keys --

const KEYS = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  b: () => setWay('beside'), s: () => setWay('slider'), d: () => setWay('difference'), f: () => setWay('flip'),
  x: () => { [shown.left, shown.right] = [shown.right, shown.left]; pick('left', shown.left); },
  '+': () => zoomBy(STEP), '=': () => zoomBy(STEP), '-': () => zoomBy(1 / STEP), 0: () => zoomTo(null), z: () => zoomTo(look.zoom === null ? 1 : null),
};
const PANS = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };

function setWay(way) {
  shown.way = way;
  showDetail();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target, key } = event;
  if (key === ' ') {
    if (target.closest('button, a, select, summary')) return; // theirs
    event.preventDefault();
    if (!event.repeat) flip(true);
    return;
  }
  // A control that uses arrows and letters keeps them while it has the focus.
  if (target.matches('select') || (key.startsWith('Arrow') && target.matches('input'))) return;
  const digit = /^Digit([1-9])$/.exec(event.code);
  const edit = digit && shown.sample.edits[digit[1] - 1];
  if (edit) pick(event.shiftKey ? 'left' : 'right', pictureName(shown.sample, edit));
  else if (event.shiftKey && key in PANS) panBy(...PANS[key]);
  else if (KEYS[key.length === 1 ? key.toLowerCase() : key]) KEYS[key.length === 1 ? key.toLowerCase() : key]();
  else return;
  event.preventDefault();
}

function startDetail() {
  document.getElementById('detail-previous').addEventListener('click', () => step(-1));
  document.getElementById('detail-next').addEventListener('click', () => step(1));
  document.getElementById('detail-close').addEventListener('click', () => detail.close());
  document.getElementById('stage-ways').addEventListener('change', (event) => setWay(event.target.value));
  for (const side of SIDES) document.getElementById(`pick-${side}`).addEventListener('change', (event) => pick(side, event.target.value));
  startStage();
  detail.addEventListener('keydown', onKey);
  detail.addEventListener('keyup', (event) => { if (event.key === ' ' && !event.target.closest('button')) flip(false); });
  // After a click a button loses the focus, so that the space bar flips again.
  detail.addEventListener('click', (event) => {
    if (event.target === detail) detail.close();
    else if (event.detail && event.target.closest('.detail-body button, .detail-steps button')) stage.focus({ preventScroll: true });
  });
  detail.addEventListener('close', () => {
    if (detail.open) return; // a late event: an address has already opened the next sample
    const closed = shown.sample;
    shown.sample = null;
    document.querySelector('.gallery-head').append(share);
    flip(false);
    const asked = new URLSearchParams(location.hash.slice(1)).get('sample'); // may be another one, not open yet
    if (closed && asked === closed.id) writeAddress();
  });
}
