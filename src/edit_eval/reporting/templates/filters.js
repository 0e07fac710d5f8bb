// Which samples are shown, and in which order.
const filters = document.getElementById('filters');

function options(name, values, labelOf) {
  const select = filters.elements[name];
  if (values.length < 2) return;
  select.parentElement.hidden = false;
  for (const value of values) select.append(sayWords('option', labelOf(value), { value }));
}

function distinct(values) {
  return [...new Set(values)].filter(Boolean);
}

function byFrequency(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one) || (one < other ? -1 : 1));
}

function inBoth(key) {
  return Object.fromEntries(Object.keys(data.texts).map((code) => [code, data.texts[code][key]]));
}

function fillFilters() {
  const itself = (value) => ({ en: value, zh: value });
  const judgements = data.samples.flatMap((sample) => sample.edits.flatMap((edit) => edit.judgements));
  const statuses = distinct(judgements.map((one) => one.status));
  options('category', distinct(data.samples.map((sample) => sample.category)), (name) => nameOf('category', name));
  options('difficulty', distinct(data.samples.map((sample) => sample.difficulty)), (name) => nameOf('difficulty', name));
  options('tag', byFrequency(data.samples.flatMap((sample) => sample.tags)), itself);
  options('status', statuses.length > 1 ? ['unscored', ...statuses] : statuses,
    (status) => inBoth(status === 'unscored' ? 'filter.unscored' : `status.${status}`));
  options('edit_model', data.edit_models, itself);
  options('judge', data.judges, itself);
  const judge = data.judges[0];
  const differ = (kind) => data.samples.some((sample) => chosenOf(sample, { judge })[kind] !== null);
  for (const kind of ['models', 'answers']) {
    if (!differ(kind)) filters.elements.sort.querySelector(`[value=${kind}]`).remove();
  }
}

function wantedNow() {
  const form = Object.fromEntries(new FormData(filters));
  const bound = (text) => (text === '' || Number.isNaN(Number(text)) ? null : Number(text));
  const judge = form.judge || data.judges[0]; // a single judge is not asked for
  return { ...form, judge, search: form.search.trim().toLowerCase(), lowest: bound(form.lowest), highest: bound(form.highest) };
}

// All of a sample's text that the search looks through, made when first asked for.
const searchable = new Map();

function textOf(sample) {
  if (!searchable.has(sample)) {
    const words = sample.edits.flatMap((edit) => [edit.reason, ...edit.judgements.flatMap((one) => [one.answer, one.reason])]);
    const all = [sample.id, sample.instruction, ...Object.values(sample.instructions), sample.description, sample.fault, ...sample.tags, ...words];
    searchable.set(sample, all.join('\n').toLowerCase());
  }
  return searchable.get(sample);
}

// [{sample, edits, matching, lowest, highest, models, answers}], filtered and sorted.
function chosenSamples(wanted) {
  const chosen = [];
  for (const sample of data.samples) {
    if (wanted.category && sample.category !== wanted.category) continue;
    if (wanted.difficulty && sample.difficulty !== wanted.difficulty) continue;
    if (wanted.tag && !sample.tags.includes(wanted.tag)) continue;
    if (wanted.search && !textOf(sample).includes(wanted.search)) continue;
    const rest = chosenOf(sample, wanted);
    if ((wanted.status || wanted.lowest !== null || wanted.highest !== null) && !rest.matching.length) continue;
    chosen.push({ sample, ...rest });
  }
  return sorted(chosen, wanted.sort);
}

function sorted(chosen, order) {
  const [key, sign] = {
    lowest: ['lowest', 1], highest: ['highest', -1], models: ['models', -1], answers: ['answers', -1],
  }[order] || [null, 0];
  if (!key) return chosen;
  // What has no number to sort by comes last, whichever way the rest is sorted.
  const missing = chosen.filter((one) => one[key] === null);
  const known = chosen.filter((one) => one[key] !== null);
  return [...known.sort((one, other) => sign * (one[key] - other[key])), ...missing];
}
