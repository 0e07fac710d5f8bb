// All runs as a table: changed runs are pushed, and only their rows are redrawn. The address holds the search, the
// order and the open trend.
function redrawCharts() {}
const main = document.getElementById('main');
const picked = new Set();
const runs = new Map();
let reading = false; // some are not read yet
const rows = new Map(); // each run's row, and the data it was drawn from
const LINES = 6; // lines per run
const LAST = 12; // runs in a small trend
const ORDER = { working: 0, silent: 0, reading: 1 };
const SVG = 'http://www.w3.org/2000/svg';
const asked = new URLSearchParams(location.search);
const sorting = { by: asked.get('sort') || '', up: asked.has('up') };

const COLUMNS = [
  ['name', "Run", (run) => run.name.toLowerCase(), true],
  ['benchmark', "Benchmark", (run) => `${run.benchmark.toLowerCase()} ${String(run.samples).padStart(9, '0')}`, true],
  ['score', "Score", (run) => (best(run) ? best(run).value : null), false],
  ['scored', "Scored", (run) => (run.results.length ? Math.min(...run.results.map((one) => one.scored / (one.total || 1))) : run.fraction), true],
  ['changed', "Changed", (run) => run.changed, false],
];

function best(run) { // the best model by the first judge that has means
  const scored = run.results.filter((one) => one.value !== null && one.judge === run.results[0].judge);
  return scored.reduce((top, one) => (!top || one.value > top.value ? one : top), null);
}

const formats = new Map(); // making one takes far longer than using it

function formatOf(kind, style) {
  const key = `${language} ${JSON.stringify(style)}`;
  if (!formats.has(key)) formats.set(key, new kind(data.languages[language].dates, style));
  return formats.get(key);
}

function whenWords(seconds, style = { dateStyle: 'medium', timeStyle: 'short' }) {
  return formatOf(Intl.DateTimeFormat, style).format(new Date(seconds * 1000));
}

function ageWords(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - seconds);
  const [unit, size] = [['day', 86400], ['hour', 3600], ['minute', 60]].find(([, one]) => passed >= one) || ['minute', 60];
  if (passed > 45 * 86400) return whenWords(seconds, { dateStyle: 'medium' });
  return formatOf(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(-Math.floor(passed / size), unit);
}

// -- one configuration over time: runs of the same benchmark and number of samples, with this model and judge --

function trendKey(run, line) {
  return JSON.stringify([run.benchmark, run.samples, line.edit_model, line.judge, line.score]);
}

const trends = new Map();

function findTrends() {
  trends.clear();
  for (const run of [...runs.values()].sort((one, other) => one.changed - other.changed)) {
    for (const line of run.results) {
      const key = trendKey(run, line);
      if (line.value === null) continue;
      if (!trends.has(key)) trends.set(key, []);
      trends.get(key).push({ run, line });
    }
  }
}

function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(points, width, height, edge, dots) {
  const ends = points.flatMap(({ line }) => (dots && line.ends ? [line.value, ...line.ends] : [line.value]));
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const across = (place) => edge + (points.length < 2 ? 0.5 : place / (points.length - 1)) * (width - 2 * edge);
  const down = (value) => height - edge - (high > low ? (value - low) / (high - low) : 0.5) * (height - 2 * edge);
  const image = shape('svg', { viewBox: `0 0 ${width} ${height}`, class: 'trend-line', 'aria-hidden': 'true' });
  image.append(shape('polyline', { points: points.map(({ line }, place) => `${across(place)},${down(line.value)}`).join(' ') }));
  points.forEach(({ run, line }, place) => {
    if (!dots && place < points.length - 1) return;
    if (dots && line.ends) image.append(shape('line', { x1: across(place), x2: across(place), y1: down(line.ends[0]), y2: down(line.ends[1]) }));
    const dot = shape('circle', { cx: across(place), cy: down(line.value), r: dots ? 5 : 3 });
    const title = shape('title', {}, document.createTextNode(`${run.name} · ${line.mean} ${line.interval} · ${whenWords(run.changed)}`));
    dot.append(title);
    image.append(dots ? shape('a', { href: `/run/${run.id}`, tabindex: '-1' }, dot) : dot);
  });
  return image;
}

const trend = make('section', { class: 'trend', hidden: true });

function showTrend() {
  const points = trends.get(asked.get('trend')) || [];
  trend.hidden = points.length < 2;
  if (trend.hidden) return;
  const { run, line } = points[points.length - 1];
  const close = say('button', "Close", [], { type: 'button', class: 'plain' });
  close.addEventListener('click', () => ask('trend', ''));
  trend.replaceChildren(
    make('div', { class: 'run-head' }, make('h2', {}, `${line.edit_model} · ${line.judge}`),
      say('span', "{} on {} samples: {} runs, oldest first", [run.benchmark, run.samples, points.length], { class: 'quiet' }), make('form', {}, close)),
    drawn(points, 1000, 190, 16, true),
    make('p', { class: 'trend-ends quiet' }, make('span', {}, `${whenWords(points[0].run.changed)} · ${points[0].line.mean} ${points[0].line.interval}`),
      make('span', {}, `${whenWords(run.changed)} · ${line.mean} ${line.interval}`)));
}

// -- rows --

function resultLine(run, line) {
  const points = trends.get(trendKey(run, line)) || [];
  const button = points.length > 1 && !reading ? make('button', { type: 'button', class: 'spark', ...labelled('label', "Trend of {} over {} runs", [line.edit_model, points.length]) }, drawn(points.slice(-LAST), 72, 22, 4, false)) : null;
  if (button) button.addEventListener('click', () => { ask('trend', trendKey(run, line)); trend.scrollIntoView({ block: 'nearest' }); });
  const several = new Set(run.results.map((one) => one.judge)).size > 1;
  return [
    make('span', { class: 'model', title: `${line.edit_model} · ${line.judge}` }, line.edit_model, several ? make('small', {}, ` · ${line.judge}`) : null),
    make('span', { class: 'number' }, make('b', {}, line.mean), ' ', make('small', {}, line.interval)),
    make('span', { class: line.scored < line.total ? 'number problem' : 'number quiet', title: line.bounds }, `${line.scored}/${line.total}`),
    button || make('span'),
  ];
}

function runRow(run) {
  const box = make('input', { type: 'checkbox', checked: picked.has(run.id), ...labelled('label', "Compare {}", [run.name]) });
  box.addEventListener('change', () => {
    if (box.checked) picked.add(run.id);
    else picked.delete(run.id);
    showPicked();
  });
  const images = Array.from({ length: run.pictures }, (_, place) => make('img', { loading: 'lazy', src: `/run/${run.id}/glance/${place}`, alt: '', width: 44, height: 44 }));
  const state = make('p', { class: 'state' }, make('span', { class: `dot ${run.state}`, 'aria-hidden': 'true' }), say('span', STATES[run.state]));
  if (run.fraction !== null && run.fraction < 1) state.append(make('span', { class: 'number quiet' }, ` · ${Math.floor(run.fraction * 100)} %`));
  // Where nobody has judged, the names of the models would tell a rater what to vote: voting comes first.
  const vote = `/run/${run.id}/vote`;
  const first = run.votable && !run.votes && !run.judges.length && run.state === 'complete';
  const address = first ? vote : `/run/${run.id}`;
  const about = make('td', { class: 'run' }, make('a', { class: 'run-name', href: address }, run.name), state);
  if (run.votable) about.append(make('p', {}, say('a', "Vote", [], { href: vote, class: first ? 'primary' : 'secondary' })));
  if (run.fraction !== null && run.fraction < 1) about.append(bar([[run.fraction, '']]));
  if (run.reason) about.append(make('p', { class: 'why problem', title: run.reason }, run.reason));
  for (const one of run.failures.slice(0, 2)) about.append(make('p', { class: 'why problem', title: inLanguage(one.reason) }, `${one.count} × `, sayWords('span', one.reason)));
  const judges = run.judges.length ? say('p', "judged by {}", [run.judges.join(', ')], { class: 'quiet' }) : null;
  const votes = run.votes ? say('p', run.votes === 1 ? "{} vote" : "{} votes", [run.votes], { class: 'quiet number' }) : null;
  const verdict = Object.keys(run.verdict).length ? sayWords('p', run.verdict, { class: 'answer' }) : null;
  const shown = run.results.length ? run.results.slice(0, LINES).flatMap((line) => resultLine(run, line)) : run.models.map((one) => make('span', { class: 'model whole' }, one));
  if (run.results.length > LINES) shown.push(say('span', "and {} more", [run.results.length - LINES], { class: 'quiet whole' }));
  return make('tr', { id: `run-${run.id}` },
    make('td', { class: 'pick' }, make('label', {}, box)),
    make('td', { class: 'pictures' }, ...(images.length ? [make('a', { href: address, tabindex: '-1', 'aria-hidden': 'true' }, ...images)] : [])),
    about,
    make('td', { class: 'benchmark' }, make('p', {}, run.benchmark), run.samples ? say('p', "{} samples", [run.samples], { class: 'quiet number' }) : null, judges, votes),
    make('td', { class: 'results', colspan: 2 }, verdict, make('div', { class: 'result-lines' }, ...shown)),
    make('td', { class: 'changed quiet' }, run.changed ? make('time', { title: whenWords(run.changed) }, ageWords(run.changed)) : ''));
}

const body = make('tbody');
const heads = COLUMNS.map(([name, text, , up]) => {
  const button = say('button', text, [], { type: 'button', class: 'sort' });
  button.addEventListener('click', () => {
    sorting.up = sorting.by === name ? !sorting.up : up;
    sorting.by = name;
    write();
    arrange();
  });
  return make('th', { scope: 'col', class: `by-${name}` }, button);
});
const table = make('table', { class: 'runs' }, make('thead', {}, make('tr', {}, make('td', { class: 'pick' }), make('td', { class: 'pictures' }), ...heads)), body);
const search = make('input', { type: 'search', name: 'search', value: asked.get('search') || '', ...labelled('placeholder', "Search: name, model, judge, benchmark, state"), ...labelled('label', "Search the runs") });
const count = make('span', { class: 'quiet', role: 'status' });
const compare = say('button', "Compare", [], { type: 'button', class: 'primary' });
const none = make('p', { class: 'explanation' });
compare.addEventListener('click', () => { location.href = `/compare/${[...picked].join('/')}`; });
search.addEventListener('input', () => { ask('search', search.value); });

function write() {
  for (const [name, value] of [['sort', sorting.by], ['up', sorting.by && sorting.up ? '1' : '']]) {
    if (value) asked.set(name, value);
    else asked.delete(name);
  }
  history.replaceState(null, '', asked.size ? `?${asked}` : location.pathname);
}

function ask(name, value) {
  if (value) asked.set(name, value);
  else asked.delete(name);
  write();
  arrange();
}

function showPicked() {
  compare.disabled = picked.size < 2;
  const total = runs.size;
  const shown = body.children.length;
  count.replaceChildren(picked.size ? say('span', "{} chosen", [picked.size])
    : shown < total ? say('span', "{} of {} runs", [shown, total]) : say('span', "Choose two or more to compare"));
}

function isWanted(run, wanted) {
  const said = [run.name, run.folder, run.benchmark, run.reason, ...run.models, ...run.judges, STATES[run.state], words(STATES[run.state]), ...run.failures.flatMap((one) => Object.values(one.reason))].join('\n').toLowerCase();
  return wanted.every((word) => said.includes(word));
}

// Puts the wanted rows in order; a row that keeps its place is not touched, so neither are focus and selection in it.
function arrange() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const [, , value] = COLUMNS.find(([name]) => name === sorting.by) || [];
  const byState = (one, other) => (ORDER[one.state] ?? 2) - (ORDER[other.state] ?? 2) || other.changed - one.changed;
  const compared = (one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return (a === null) - (b === null); // missing values come last in either order
    return (a < b ? -1 : a > b ? 1 : 0) * (sorting.up ? 1 : -1);
  };
  const found = [...runs.values()].filter((run) => isWanted(run, wanted)).sort(byState);
  if (value) found.sort(compared);
  const place = found.map((run) => rows.get(run.id));
  place.forEach((row, at) => { if (body.children[at] !== row) body.insertBefore(row, body.children[at] || null); });
  while (body.children.length > place.length) body.lastChild.remove();
  COLUMNS.forEach(([name], at) => heads[at].setAttribute('aria-sort', name !== sorting.by ? 'none' : sorting.up ? 'ascending' : 'descending'));
  table.hidden = !found.length;
  none.hidden = Boolean(found.length);
  none.replaceChildren(runs.size ? say('span', "No run matches all of these words.") : say('span', "There is no run here yet. A new one will show up by itself."));
  showTrend();
  showPicked();
}

function takeRuns({ there, changed: told, anew = false }) {
  // A new connection begins with all runs, even those the page already has.
  const changed = told.filter((run) => anew || JSON.stringify(runs.get(run.id)) !== JSON.stringify(run));
  for (const run of changed) runs.set(run.id, run);
  for (const id of [...runs.keys()]) {
    if (there.includes(id)) continue;
    runs.delete(id);
    rows.delete(id);
    picked.delete(id);
  }
  findTrends();
  const again = new Set(changed.map((run) => run.id));
  const before = reading;
  reading = [...runs.values()].some((run) => run.state === 'reading');
  const moved = new Set(changed.flatMap((run) => run.results.map((line) => trendKey(run, line)))); // their small trends, too
  for (const run of runs.values()) {
    if (again.has(run.id) || (before && !reading) || (!reading && run.results.some((line) => moved.has(trendKey(run, line))))) rows.set(run.id, runRow(run));
  }
  arrange();
}

main.append(make('section', { class: 'wide all-runs' },
  make('div', { class: 'run-head' }, say('h1', "Runs"), search, make('form', {}, count, compare)), trend, table, none));
startPreferences(); // before the rows, whose times follow the language
takeRuns({ there: data.runs.map((run) => run.id), changed: data.runs });
document.getElementById('language').addEventListener('click', () => takeRuns({ there: [...runs.keys()], changed: [...runs.values()], anew: true }));
follow('/events', { value: '' }, { runs: takeRuns });
