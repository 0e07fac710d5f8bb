// Which samples are shown, and in which order.
const filters = document.getElementById('filters');
const ENDS = { // where higher is better, and where lower is
  worst: ["Lowest", "Highest (worst)"],
  best: ["Highest", "Lowest (best)"],
};

const OUTCOMES = { // of battles
  preferred: "one is preferred", tie: "tie", contradiction: "contradiction", missing: "without an outcome",
};

function cameTo(sample, name) {
  const meant = name === 'preferred' ? ['first', 'second'] : [name];
  return sample.battles.some((one) => Object.values(one.outcomes).some((came) => meant.includes(came)));
}

function options(name, values, labelOf) {
  const select = filters.elements[name];
  if (!select) return;
  const before = select.value;
  for (const option of [...select.options]) if (option.value) option.remove();
  select.parentElement.hidden = values.length < 2;
  if (values.length < 2) return;
  for (const value of values) select.append(sayWords('option', labelOf(value), { value }));
  if (values.includes(before)) select.value = before;
}

function distinct(values) {
  return [...new Set(values)].filter(Boolean);
}

function byFrequency(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one) || (one < other ? -1 : 1));
}

function statusesOf(samples) {
  const judgements = samples.flatMap((sample) => sample.edits.flatMap((edit) => edit.judgements));
  const battles = samples.flatMap((sample) => sample.battles.map((one) => one.status));
  return distinct([...judgements.flatMap((one) => [one.status, ...Object.values(one.missing).map(([status]) => status)]), ...battles]);
}

function fillStatuses(statuses) {
  options('status', statuses, (status) => nameOf('status', status));
}

function fillFilters() {
  options('category', distinct(data.samples.map((sample) => sample.category)), (name) => nameOf('category', name));
  options('difficulty', distinct(data.samples.map((sample) => sample.difficulty)), (name) => nameOf('difficulty', name));
  options('tag', byFrequency(data.samples.flatMap((sample) => sample.tags)), itself);
  options('group', Object.keys(data.groups), (key) => data.groups[key].label);
  fillStatuses(statusesOf(data.samples));
  options('edit_model', data.edit_models, itself);
  options('judge', data.judges, itself);
  options('outcome', Object.keys(OUTCOMES).filter((name) => data.samples.some((sample) => cameTo(sample, name))), (name) => sentence(OUTCOMES[name]));
  filters.elements.lowest.closest('fieldset').hidden = !data.judges.length;
  options('wrong', data.edit_models.length > 1 && data.judges.length ? ['all', ...data.edit_models.map((name) => `only:${name}`), 'none'] : [], wrongName);
  fillScores();
  fillChips();
}

function fillChips() {
  const wanted = wantedNow();
  const every = data.samples.map((sample) => ({ sample, ...chosenOf(sample, { ...wanted, show: 'failed' }) }));
  const offered = {
    all: true, failed: every.some(({ sample, matching }) => matching.length || sample.battles.some(unscored)),
    worst: data.judges.length, best: data.judges.length,
    models: every.some(({ models }) => models !== null), judges: every.some(({ judges }) => judges !== null),
  };
  for (const [kind, some] of Object.entries(offered)) chip(kind).hidden = !some;
  if (offered.judges && data.judges.length < 2) chip('judges').querySelector('span').replaceWith(say('span', "Repeats differ"));
}

function chip(kind) {
  return document.querySelector(`#chips [value=${kind}]`).parentElement;
}

function wrongName(value) {
  if (value === 'none') return sentence("no model");
  if (value !== 'all') return sentence("only {}", [value.slice('only:'.length)]);
  return data.edit_models.length === 2 ? sentence("both models") : sentence("all models");
}

// The scores of the chosen judge, its headline first; bounds and orders are those of the chosen score.
function fillScores() {
  const { judge } = wantedNow();
  const { headline, scores } = data.scoring[judge];
  const names = [headline, ...Object.keys(scores).filter((name) => name !== headline)];
  options('score', names, (name) => scores[name].title);
  fillBounds();
}

function fillBounds() {
  const wanted = wantedNow();
  const scale = scaleOf(wanted.judge, wanted.score);
  for (const end of ['lowest', 'highest']) {
    const input = filters.elements[end];
    input.placeholder = scale[end] ?? '';
    for (const [name, value] of [['min', scale.lowest], ['max', scale.highest]]) {
      if (value === null) input.removeAttribute(name);
      else input.setAttribute(name, value);
    }
    input.step = (10 ** (1 - scale.digits)).toFixed(scale.digits - 1);
  }
  const { bar } = filters.elements;
  bar.placeholder = written(barOf({ ...wanted, bar: null }), scale);
  bar.step = filters.elements.lowest.step;
  document.getElementById('wrong-side').replaceChildren(say('span', scale.higher_is_better ? "score below" : "score above"));
  for (const [end, said] of Object.entries(ENDS)) {
    chip(end).querySelector('span').replaceWith(say('span', said[scale.higher_is_better ? 0 : 1]));
  }
}

// Called from elsewhere on the page; empty for the headline.
function chooseScore(name) {
  const { judge } = wantedNow();
  const { headline, scores } = data.scoring[judge];
  if (!filters.elements.score.options.length) return;
  filters.elements.score.value = Object.hasOwn(scores, name) ? name : headline;
  scoreChanged();
}

// Bounds of another scale mean nothing on this one.
function scoreChanged() {
  for (const end of ['lowest', 'highest', 'bar']) filters.elements[end].value = '';
  fillBounds();
  showChosen();
  writeAddress({ push: true });
}

function wantedNow() {
  const form = Object.fromEntries(new FormData(filters));
  const bound = (text) => (text === '' || Number.isNaN(Number(text)) ? null : Number(text));
  const judge = form.judge || data.judges[0] || ''; // a single judge has no field
  const score = form.score || data.scoring[judge].headline; // nor has a single score
  return { ...form, judge, score, search: form.search.trim().toLowerCase(), lowest: bound(form.lowest), highest: bound(form.highest), bar: bound(form.bar) };
}

// All text of a sample that is searched, made on first use.
const searchable = new Map();

function textOf(sample) {
  if (!searchable.has(sample)) {
    const words = sample.edits.flatMap((edit) => [edit.reason, ...edit.judgements.flatMap((one) => [one.reason, ...wordsOf(one)])]);
    words.push(...sample.battles.flatMap((one) => [one.reason, ...one.answers.flatMap(({ text, reason }) => [text, reason])]));
    const all = [sample.id, sample.instruction, ...Object.values(sample.instructions), sample.description, sample.fault, ...sample.tags, ...words];
    searchable.set(sample, all.join('\n').toLowerCase());
  }
  return searchable.get(sample);
}

// [{sample, edits, matching, lowest, highest, models, judges}], filtered and sorted.
function chosenSamples(wanted) {
  const chosen = [];
  for (const sample of data.samples) {
    if (wanted.category && sample.category !== wanted.category) continue;
    if (wanted.difficulty && sample.difficulty !== wanted.difficulty) continue;
    if (wanted.tag && !sample.tags.includes(wanted.tag)) continue;
    if (wanted.group && !data.groups[wanted.group].samples.includes(sample.id)) continue;
    if (wanted.outcome && !cameTo(sample, wanted.outcome)) continue;
    if (wanted.search && !textOf(sample).includes(wanted.search)) continue;
    const rest = chosenOf(sample, wanted);
    const bounded = wanted.lowest !== null || wanted.highest !== null;
    const fought = !bounded && matches(sample.battles, { status: wanted.status, show: wanted.show });
    if ((wanted.status || wanted.show === 'failed' || bounded) && !rest.matching.length && !fought) continue;
    if (['models', 'judges'].includes(wanted.show) && !rest[wanted.show]) continue;
    if (wanted.wrong && !isWrong(sample, wanted)) continue;
    chosen.push({ sample, ...rest });
  }
  return sorted(chosen, wanted);
}

// All words of a judge in one judgement.
function wordsOf(judgement) {
  return judgement.readings.flatMap((reading) => Object.values(reading).flatMap(({ text, reason }) => [text, reason]));
}

function sorted(chosen, { judge, score, show }) {
  const up = ['lowest', 1];
  const down = ['highest', -1];
  const [worst, best] = scaleOf(judge, score).higher_is_better ? [up, down] : [down, up];
  const [key, sign] = { worst, best, models: ['models', -1], judges: ['judges', -1] }[show] || [null, 0];
  if (!key) return chosen;
  // Samples without a number to sort by come last in either order.
  const missing = chosen.filter((one) => one[key] === null);
  const known = chosen.filter((one) => one[key] !== null);
  return [...known.sort((one, other) => sign * (one[key] - other[key])), ...missing];
}
