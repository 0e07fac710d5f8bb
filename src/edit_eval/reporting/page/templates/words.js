// What is known of a sample and of its edits, and what judges said.
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

// What became of one of the two that are compared: each judge's own numbers and words, never a mean of judges.
function aboutEdit(sample, edit) {
  if (edit.status === 'edit_failed' || edit.status === 'edit_refused') {
    // It was not made once, whatever judges would have seen it.
    const failed = make('section', { class: 'verdict' },
      make('header', {}, make('span', { class: 'judge' }, edit.model), say('strong', `status.${edit.status}`, {}, { class: 'unscored' })),
      edit.reason ? sayReason('p', edit.reason) : null);
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
  if (judgement.status !== 'ok' && judgement.reason) made.append(sayReason('p', judgement.reason));
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
    const why = status !== 'ok' && reason && reason !== judgement.reason ? sayReason('p', reason) : null;
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
    const why = one.status !== 'ok' && one.reason && one.reason !== judgement.reason ? sayReason('p', one.reason) : null;
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
