// One sample, large: reached by its address, left by Escape, walked through by the keyboard.
const detail = document.getElementById('detail');
const stage = document.getElementById('stage');
const gain = document.getElementById('gain');
const shown = { sample: null, edit: 0, view: 'slider' };

function sampleInAddress() {
  if (!location.hash.startsWith('#sample=')) return null;
  try {
    const id = decodeURIComponent(location.hash.slice('#sample='.length));
    return data.samples.find((sample) => sample.id === id) || null;
  } catch (error) {
    return null; // an address that somebody cut short
  }
}

function followAddress() {
  const sample = sampleInAddress();
  if (sample) openDetail(sample);
  else if (detail.open) detail.close();
}

function openDetail(sample) {
  const before = shown.sample && shown.sample.edits[shown.edit];
  // An edit that the filters are about; among those the one as before, or else the first that can be looked at.
  const { edits, matching } = chosenOf(sample, wantedNow());
  const about = [matching, edits, sample.edits].find((some) => some.length) || [];
  const edit = about.find((one) => before && one.model === before.model && one.edit_seed === before.edit_seed)
    || about.find((one) => one.status === 'ok') || about[0];
  shown.sample = sample;
  shown.edit = Math.max(0, sample.edits.indexOf(edit));
  showDetail();
  if (!detail.open) detail.showModal();
}

function walk() {
  const all = chosen.map((one) => one.sample);
  return all.includes(shown.sample) ? all : data.samples;
}

function step(by) {
  const all = walk();
  const next = all[all.indexOf(shown.sample) + by];
  if (next) {
    history.replaceState(null, '', linkTo(next));
    openDetail(next);
  }
}

function showDetail() {
  const { sample } = shown;
  const edit = sample.edits[shown.edit];
  const all = walk();
  const place = all.indexOf(sample);
  document.getElementById('detail-id').replaceChildren(make('a', { href: linkTo(sample) }, sample.id));
  document.getElementById('detail-place').replaceChildren(say('span', 'detail.place', { place: place + 1, total: all.length }));
  document.getElementById('detail-previous').disabled = place <= 0;
  document.getElementById('detail-next').disabled = place >= all.length - 1;
  showStage(sample, edit);
  showChoices(sample);
  const panel = document.getElementById('detail-words');
  panel.replaceChildren(...aboutSample(sample), ...(edit ? aboutEdit(sample, edit) : []));
  panel.scrollTop = 0;
}

function showStage(sample, edit) {
  // Without an edit there is nothing to lay over the source: they stand side by side, whatever view was chosen.
  const comparable = edit && edit.status === 'ok' && !whyMissing(edit.picture) && !whyMissing(sample.source);
  const view = comparable ? shown.view : 'beside';
  for (const radio of document.querySelectorAll('#stage-views input')) radio.checked = radio.value === view;
  document.getElementById('stage-views').hidden = !comparable;
  gain.hidden = view !== 'difference';
  stage.dataset.view = view;
  stage.style.setProperty('--shape', shapeOf(sample) || 1.333);
  const labelled = (frame, label) => make('figure', { class: 'stage-picture' }, frame, make('figcaption', {}, label));
  if (!edit) {
    stage.replaceChildren(labelled(sourceFrame(sample, true), say('span', 'picture.source')));
    return;
  }
  const name = make('span', {}, editName(sample, edit));
  if (view === 'beside') {
    stage.replaceChildren(
      labelled(sourceFrame(sample, true), say('span', 'picture.source')),
      labelled(editFrame(sample, edit, 'beside', true), name));
    return;
  }
  const label = make('span', { class: 'ends' }, say('span', 'picture.source'), name);
  stage.replaceChildren(labelled(editFrame(sample, edit, view, true), view === 'slider' ? label : name));
}

function showChoices(sample) {
  const choices = document.getElementById('choices');
  const wanted = wantedNow();
  const by = document.getElementById('choices-judge');
  choices.hidden = sample.edits.length < 2;
  const shownBy = judgedBy(wanted);
  by.hidden = choices.hidden || !shownBy.length;
  if (choices.hidden) return;
  by.replaceChildren(...shownBy.slice(1)); // without the separator before it
  choices.replaceChildren(...sample.edits.map((edit, place) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(place === shown.edit) },
      editFrame(sample, edit, 'beside'),
      make('span', { class: 'choice-label' }, make('span', { class: 'model' }, editName(sample, edit)), scoreLabel(edit, wanted)));
    button.addEventListener('click', () => { shown.edit = place; showDetail(); choices.children[place].focus(); });
    return button;
  }));
}

function aboutSample(sample) {
  const parts = [];
  const instructions = Object.entries(sample.instructions).filter(([, words]) => words);
  for (const [code, instruction] of instructions) {
    const key = `detail.instruction.${code}` in data.texts.en ? `detail.instruction.${code}` : 'detail.instruction';
    parts.push(say('h3', key), make('p', { class: 'detail-instruction', lang: code }, instruction));
  }
  parts.push(make('p', { class: 'labels' },
    sayWords('span', nameOf('category_title', sample.category)),
    sample.difficulty ? sayWords('span', nameOf('difficulty', sample.difficulty)) : null,
    ...sample.tags.map((tag) => make('span', {}, tag))));
  if (sample.fault) parts.push(make('p', { class: 'fault' }, sample.fault));
  if (sample.description) parts.push(say('h3', 'detail.description'), make('p', {}, sample.description));
  if (sample.rationale) parts.push(say('h3', 'detail.rationale'), make('p', {}, sample.rationale));
  return parts;
}

function aboutEdit(sample, edit) {
  if (edit.status === 'edit_failed' || edit.status === 'edit_refused') {
    // It was not made once, whatever judges would have seen it.
    const failed = make('section', { class: 'verdict' },
      make('header', {}, make('span', { class: 'judge' }, edit.model), say('strong', `status.${edit.status}`, {}, { class: 'unscored' })),
      edit.reason ? make('p', { class: 'reason' }, edit.reason) : null);
    return [make('div', { class: 'verdicts' }, failed), say('h3', 'detail.facts'), facts(sample, edit)];
  }
  const repeated = new Set(edit.judgements.map((one) => one.repeat)).size > 1;
  const { judge } = wantedNow();
  const chosenFirst = [...edit.judgements].sort((one, other) => (other.judge === judge) - (one.judge === judge));
  const verdicts = chosenFirst.map((one) => verdict(one, repeated));
  if (!verdicts.length) verdicts.push(say('p', 'detail.not_judged'));
  return [make('div', { class: 'verdicts' }, ...verdicts), say('h3', 'detail.facts'), facts(sample, edit)];
}

function verdict(judgement, repeated) {
  const { headline, scores } = data.scoring[judgement.judge];
  const several = Object.keys(scores).length > 1;
  const asked = Math.max(0, ...judgement.readings.flatMap((reading) => Object.values(reading).map((one) => one.asked)));
  const head = make('header', {},
    make('span', { class: 'judge' }, judgement.judge),
    repeated ? say('span', 'detail.repeat', { number: judgement.repeat + 1 }, { class: 'quiet' }) : null,
    asked > 1 ? say('span', 'detail.asked', { count: asked }, { class: 'quiet' }) : null,
    value(judgement, headline, 'strong', several));
  const made = make('section', { class: 'verdict' }, head);
  if (judgement.status !== 'ok' && judgement.reason) made.append(make('p', { class: 'reason' }, judgement.reason));
  if (several) made.append(otherScores(judgement));
  made.append(...replies(judgement));
  return made;
}

// A score with its name, or what became of it.
function value(judgement, score, tag, named) {
  const { status } = outcomeOf(judgement, score);
  const scale = scaleOf(judgement.judge, score);
  const name = named ? [sayWords('small', scale.title), ' '] : [];
  if (status !== 'ok') return make(tag, { class: 'unscored' }, ...name, say('span', `status.${status}`));
  const spread = judgement.spread && judgement.spread[score];
  const between = spread === undefined ? [] : [' ', say('small', 'detail.spread', { spread: written(spread, scale) })];
  return make(tag, { class: 'score' }, ...name, written(judgement.scores[score], scale), ...between);
}

function otherScores(judgement) {
  const { headline, scores } = data.scoring[judgement.judge];
  const names = Object.keys(scores).filter((name) => name !== headline && outcomeOf(judgement, name));
  return make('ul', { class: 'other-scores' }, ...names.map((name) => {
    const { status, reason } = outcomeOf(judgement, name);
    const why = status !== 'ok' && reason && reason !== judgement.reason ? make('p', { class: 'reason' }, reason) : null;
    return make('li', {}, value(judgement, name, 'span', true), why);
  }));
}

// What the judge said: to one question as it came, to several each under its name.
function replies(judgement) {
  const found = judgement.readings.flatMap((reading, number) => Object.entries(reading).map(([question, one]) => ({ question, number, ...one })));
  const quote = (text) => make('blockquote', { 'aria-label': words('detail.words'), 'data-text-label': 'detail.words' }, text);
  if (found.length === 1 && found[0].mass === undefined) return found[0].text ? [quote(found[0].text)] : [];
  return found.map((one) => {
    const named = (name, number) => [...(name === one.question ? [] : [name]), Number(number.toFixed(4))].join(' ');
    const values = Object.entries(one.values).map((pair) => named(...pair)).join(', ');
    const head = make('header', {},
      make('span', { class: 'question' }, one.question),
      judgement.readings.length > 1 ? say('span', 'detail.reading', { number: one.number + 1 }, { class: 'quiet' }) : null,
      one.status === 'ok' ? make('span', { class: 'quiet' }, values) : say('span', `status.${one.status}`, {}, { class: 'unscored' }),
      one.mass === 'unknown' ? say('span', 'detail.mass.unknown', {}, { class: 'quiet' }) : null,
      typeof one.mass === 'number' ? say('span', 'detail.mass', { mass: one.mass.toFixed(3) }, { class: 'quiet' }) : null);
    const why = one.status !== 'ok' && one.reason && one.reason !== judgement.reason ? make('p', { class: 'reason' }, one.reason) : null;
    return make('div', { class: 'reply' }, head, why, one.text ? quote(one.text) : null);
  });
}

function facts(sample, edit) {
  const flags = edit.flags.map((flag) => (`flag.${flag}` in data.texts.en ? say('li', `flag.${flag}`, {}, { class: 'unscored' }) : make('li', {}, flag)));
  return make('ul', { class: 'edit-facts' },
    ...flags,
    edit.width ? make('li', {}, `${edit.width} × ${edit.height}`) : null,
    say('li', 'detail.seed', { seed: edit.seed }),
    edit.seconds ? say('li', 'detail.seconds', { seconds: edit.seconds.toFixed(1) }) : null,
    edit.device ? make('li', {}, edit.device) : null,
    fullSize(edit.picture, 'detail.full_edit', 'detail.full_edit.gone'),
    fullSize(sample.source, outside(sample.source) ? 'detail.full_source.elsewhere' : 'detail.full_source', 'detail.full_source.gone'));
}

// A link to a picture's file, or what became of it: edits move with the run directory, sources stay where they are.
function fullSize(picture, key, gone) {
  if (!picture.file) return null;
  const item = make('li', {}, say('a', key, {}, { href: picture.file, target: '_blank', rel: 'noopener' }));
  const file = new Image();
  file.onerror = () => item.replaceChildren(say('span', gone, {}, { class: 'quiet' }));
  file.src = picture.file;
  return item;
}

function outside(picture) {
  return Boolean(picture.file) && picture.file.startsWith('file:');
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // The arrows belong to the slider and to the choice of views while they have the focus.
  const takesArrows = event.target.matches('input');
  const views = { b: 'beside', s: 'slider', d: 'difference' };
  if (event.key === 'ArrowLeft' && !takesArrows) step(-1);
  else if (event.key === 'ArrowRight' && !takesArrows) step(1);
  else if (event.key in views) { shown.view = views[event.key]; showDetail(); }
  else if (/^[1-9]$/.test(event.key) && shown.sample.edits[event.key - 1]) { shown.edit = event.key - 1; showDetail(); }
  else return;
  event.preventDefault();
}

function startDetail() {
  document.getElementById('detail-previous').addEventListener('click', () => step(-1));
  document.getElementById('detail-next').addEventListener('click', () => step(1));
  document.getElementById('detail-close').addEventListener('click', () => detail.close());
  document.getElementById('stage-views').addEventListener('change', (event) => { shown.view = event.target.value; showDetail(); });
  gain.querySelector('input').addEventListener('input', (event) => stage.style.setProperty('--gain', event.target.value));
  detail.addEventListener('keydown', onKey);
  detail.addEventListener('click', (event) => { if (event.target === detail) detail.close(); });
  detail.addEventListener('close', () => {
    if (detail.open) return; // the event comes late: an address has opened the next sample meanwhile
    shown.sample = null;
    if (sampleInAddress()) history.replaceState(null, '', location.pathname + location.search);
  });
  addEventListener('hashchange', followAddress);
  followAddress();
}
