// Exports of the filtered samples: scores as CSV, and the command or link for a page of these samples alone.
const COLUMNS = ['sample_id', 'category', 'edit_model', 'judge', 'edit_seed', 'seed', 'repeat', 'score_name', 'status', 'score', 'spread', 'why_no_score', 'judge_says'];
const CELL = 32_000; // characters that a spreadsheet's cell takes, as in `scores.csv`
const LONGEST = 1_800; // longest address, in characters, that the viewer accepts
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const SIGNED = /^[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// The chosen edits: those that match, if the filters have a status or bounds.
function selectedEdits({ edits, matching }, { status, lowest, highest }) {
  return status || lowest !== null || highest !== null ? matching : edits;
}

// The rows of `scores.csv` about the chosen samples and edits, of every judge.
function selectionRows() {
  const wanted = wantedNow();
  return chosen.flatMap((one) => selectedEdits(one, wanted).flatMap((edit) => edit.judgements.flatMap((judgement) => (
    Object.keys(data.scoring[judgement.judge].scores).flatMap((name) => {
      const found = outcomeOf(judgement, name);
      if (!found) return [];
      const numbers = [judgement.scores[name], (judgement.spread || {})[name]].map((number) => (
        number === undefined ? '' : Number.isInteger(number) ? number.toFixed(1) : String(number)));
      return [[one.sample.id, one.sample.category, edit.model, judgement.judge, edit.edit_seed, edit.seed, judgement.repeat, name, found.status, ...numbers, found.reason, judgeSays(judgement)]];
    })))));
}

// The judge's words: its reason beside a score, else its reply; of several a line each.
function judgeSays({ readings }) {
  const said = readings.flatMap((reading) => Object.entries(reading).map(([question, read]) => [question, (read.status === 'ok' && read.reason) || read.text]));
  const text = said.filter(([, words]) => words).map(([question, words]) => (said.length > 1 ? `${question}: ${words}` : words)).join('\n');
  return Array.from(text).length <= CELL ? text : `${Array.from(text).slice(0, CELL - 1).join('')}…`;
}

// Text that a spreadsheet would execute gets an apostrophe before it, as in `scores.csv`.
function csvField(value) {
  const text = typeof value === 'string' && FORMULA.test(value) && !SIGNED.test(value) ? `'${value}` : String(value);
  return /[\x22\r\n,]/.test(text) ? `"${text.replace(/\x22/g, '""')}"` : text;
}

function csv(rows) {
  return [COLUMNS, ...rows].map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

// Places in the run's order, as 0-3,7: short enough for an address.
function placesOf(samples) {
  const wanted = new Set(samples);
  const runs = [];
  data.samples.forEach((sample, place) => {
    if (!wanted.has(sample)) return;
    if (runs.length && runs.at(-1)[1] === place - 1) runs.at(-1)[1] = place;
    else runs.push([place, place]);
  });
  return runs.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(',');
}

function showSelection() {
  const wanted = wantedNow();
  const edits = chosen.reduce((sum, one) => sum + selectedEdits(one, wanted).length, 0);
  document.getElementById('selection-count').replaceChildren(say('span', "{} edits of {} samples, as they are filtered now", [edits, chosen.length]));
  const typed = document.getElementById('selection-typed');
  if (!typed || (data.runs && data.runs.length > 1)) return; // several runs together cannot be exported
  document.getElementById('selection-command').textContent = `edit-eval export ${quoted(data.run)} selection.html --samples selection.csv`;
  const served = data.links && data.links.selection;
  const address = served && `${served}?samples=${placesOf(chosen.map((one) => one.sample))}`;
  const short = Boolean(address) && address.length <= LONGEST;
  typed.hidden = short || !chosen.length;
  if (!short) return;
  document.getElementById('selection-served').hidden = !chosen.length;
  document.getElementById('selection-page').href = address;
}

// Quotes text for a shell.
function quoted(text) {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

function startSelection() {
  const menu = document.getElementById('selection');
  menu.addEventListener('toggle', () => {
    showSelection();
    const panel = menu.querySelector('summary + div');
    menu.classList.remove('rightwards');
    menu.classList.toggle('rightwards', panel.getBoundingClientRect().left < 0); // wrapped to the left of the page
  });
  document.addEventListener('click', ({ target }) => { if (!menu.contains(target)) menu.open = false; });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
  document.getElementById('selection-csv').addEventListener('click', () => {
    const address = URL.createObjectURL(new Blob([csv(selectionRows())], { type: 'text/csv' }));
    make('a', { href: address, download: 'selection.csv' }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  });
}
