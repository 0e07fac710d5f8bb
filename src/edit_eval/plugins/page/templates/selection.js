// What is sent to others: the open pair as a picture, a link, and of the filtered samples their scores and a page.
const share = document.getElementById('selection');
const COLUMNS = ['sample_id', 'category', 'edit_model', 'judge', 'edit_seed', 'seed', 'repeat', 'score_name', 'status', 'score', 'spread', 'why_no_score', 'judge_says'];
const CELL = 32_000; // characters that a spreadsheet's cell takes, as in `scores.csv`
const LONGEST = 1_800; // longest address, in characters, that the viewer accepts
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const FOLDERS = /(?:file:\/\/|(?<![\w./:~…-]))\/(?:[^\s/'\x22\x60:,;()]+\/)+/g; // of an absolute path: nobody else has them
const SIGNED = /^[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// The chosen edits: those that match, if the filters have a status or bounds, or are for the failed.
function selectedEdits({ edits, matching }, { status, show, lowest, highest }) {
  return status || show === 'failed' || lowest !== null || highest !== null ? matching : edits;
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
      return [[one.sample.id, one.sample.category, edit.model, judgement.judge, edit.edit_seed, edit.seed, judgement.repeat, name, found.status, ...numbers, found.reason.replace(FOLDERS, '…/'), judgeSays(judgement)]];
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
  document.getElementById('share-pair').hidden = !shown.sample || SIDES.some((side) => isBeside(pictureNamed(shown.sample, shown[side]).picture || {}));
  document.getElementById('link-said').replaceChildren();
  const wanted = wantedNow();
  const edits = chosen.reduce((sum, one) => sum + selectedEdits(one, wanted).length, 0);
  document.getElementById('selection-count').replaceChildren(say('span', "{} edits of {} samples, as they are filtered now", [edits, chosen.length]));
  const typed = document.getElementById('selection-typed');
  if (!typed || (data.runs && data.runs.length > 1)) return; // several runs together cannot be exported
  const all = chosen.length === data.samples.length;
  typed.querySelector('p').replaceChildren(all ? say('span', "This page as one file: type this where the run's directory is.")
    : say('span', "These samples as one file: save the CSV, then type this where the run's directory is."));
  document.getElementById('selection-command').textContent = `edit-eval export ${quoted(data.run)} ${all ? 'page.html' : 'selection.html --samples selection.csv'}`;
  const served = data.links && data.links.selection;
  const address = served && `${served}?samples=${placesOf(chosen.map((one) => one.sample))}`;
  const short = Boolean(address) && address.length <= LONGEST;
  typed.hidden = short || !chosen.length;
  if (!short) return;
  document.getElementById('selection-served').hidden = !chosen.length;
  const page = document.getElementById('selection-page');
  page.href = address;
  page.replaceChildren(all ? say('span', "This page as one file") : say('span', "These samples as one file"));
}

// Quotes text for a shell.
function quoted(text) {
  return /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

// What an address is worth to others: a file's folders are this computer's alone.
function linkNow() {
  writeAddress();
  return location.protocol === 'file:' ? decodeURIComponent(location.pathname.split('/').pop()) + location.hash : location.href;
}

async function copyLink() {
  const said = document.getElementById('link-said');
  const link = linkNow();
  const worth = location.protocol !== 'file:' ? [] : [' · ', shown.sample ? say('span', "opens the same pair in the same file") : say('span', "shows the same in the same file")];
  try {
    await navigator.clipboard.writeText(link);
    said.replaceChildren(say('span', "Copied"), ...worth);
  } catch (error) { // no clipboard here: at least it is selected
    const field = make('input', { type: 'text', readonly: true, value: link, 'aria-label': words("Copy link") });
    said.replaceChildren(field, ...worth);
    field.select();
  }
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  make('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// -- the open pair as a picture: the instruction, and below each side its name and each judge's score --

const [WIDE, GAP, LINE] = [768, 24, 34]; // pixels: a side, around it, and a line of text

// A file beside a page on disk cannot be copied into another picture, its thumbnail in the page can.
async function readable(found) {
  if (nothingOf(found)) return null;
  const made = make('img', { src: (location.protocol !== 'file:' && found.picture.file) || thumbnailOf(found.picture) });
  await made.decode();
  return made;
}

function inLines(pen, text, width) {
  const lines = [''];
  for (const piece of text.match(/[\u3000-\u9fff\uff00-\uffef]|[^\s\u3000-\u9fff\uff00-\uffef]+\s*|\s+/g) || []) {
    if (lines.at(-1) && pen.measureText(lines.at(-1) + piece.trimEnd()).width > width) lines.push('');
    lines.push(lines.pop() + piece);
  }
  return lines;
}

async function drawPair() {
  const { sample } = shown;
  const pictures = await Promise.all(SIDES.map((side) => readable(pictureNamed(sample, shown[side]))));
  const scoresOn = (side) => [...document.querySelectorAll(`#scores-${side} .of-judge`)].map((one) => one.textContent);
  const below = SIDES.map((side) => [inLanguage(labelOf(sample, shown[side])), ...scoresOn(side)]);
  const height = Math.max(...pictures.map((one) => (one ? Math.round((WIDE * one.naturalHeight) / one.naturalWidth) : WIDE / 2)));
  const canvas = make('canvas', { width: 2 * WIDE + 3 * GAP });
  const pen = canvas.getContext('2d');
  const font = (weight) => { pen.font = `${weight} 24px ${getComputedStyle(document.body).fontFamily}`; };
  font(600);
  const asked = inLines(pen, inLanguage(instructionOf(sample)), 2 * WIDE + GAP);
  const top = GAP + asked.length * LINE;
  canvas.height = top + height + GAP + Math.max(...below.map((lines) => lines.length)) * LINE; // which also clears the pen
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = '#1b1a18';
  font(600);
  asked.forEach((line, place) => pen.fillText(line, GAP, GAP + (place + 0.6) * LINE));
  font(400);
  pictures.forEach((one, place) => {
    const left = GAP + place * (WIDE + GAP);
    if (one) pen.drawImage(one, left, top, WIDE, (WIDE * one.naturalHeight) / one.naturalWidth);
    else pen.fillText(stage.children[place].textContent, left, top + LINE, WIDE);
    below[place].forEach((line, number) => pen.fillText(line, left, top + height + (number + 1) * LINE, WIDE));
  });
  canvas.toBlob((blob) => save(blob, `${sample.id}.png`));
}

function startSelection() {
  const menu = share;
  menu.addEventListener('toggle', () => {
    showSelection();
    const panel = menu.querySelector('summary + div');
    menu.classList.remove('rightwards');
    menu.classList.toggle('rightwards', panel.getBoundingClientRect().left < 0); // wrapped to the left of the page
  });
  document.addEventListener('click', ({ target }) => { if (!menu.contains(target)) menu.open = false; });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.preventDefault(); // of a dialog around it
    menu.open = false;
    menu.querySelector('summary').focus();
  });
  document.getElementById('selection-csv').addEventListener('click', () => save(new Blob([csv(selectionRows())], { type: 'text/csv' }), 'selection.csv'));
  document.getElementById('share-link').addEventListener('click', copyLink);
  document.getElementById('share-png').addEventListener('click', drawPair);
}
