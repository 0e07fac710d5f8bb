// All pairs are in this page; votes are kept by the browser, if it allows that, and saved as a file.
const votes = new Map();
let saved = 0;
let isKept = false;

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest >>> 0;
});

// A record as one line with its CRC-32, as in journals.
function sealed(record) {
  const body = JSON.stringify(record);
  const crc = new TextEncoder().encode(body).reduce((so_far, byte) => (so_far >>> 8) ^ TABLE[(so_far ^ byte) & 255], -1);
  return `${body.slice(0, -1)},"crc":"${((crc ^ -1) >>> 0).toString(16).padStart(8, '0')}"}\n`;
}

function place() {
  return `edit-eval-votes ${data.page} ${page.rater}`;
}

function picture(number) {
  const packed = number === null ? '' : document.getElementById(`picture-${number}`).textContent;
  const file = `data:image/webp;base64,${packed}`;
  return packed ? { thumbnail: file, file } : null;
}

// Every rater has their own order, the same on each visit.
function inOrder() {
  const rank = (pair) => sealed({ pair: pair.ticket, rater: page.rater }).slice(-11);
  return [...data.pairs].sort((one, other) => (rank(one) < rank(other) ? -1 : 1));
}

function ask() {
  votes.clear();
  try {
    const known = new Set(data.pairs.map((one) => one.ticket));
    for (const one of JSON.parse(recall(place())) || []) if (known.has(one.ticket)) votes.set(one.ticket, one);
  } catch (error) { /* nothing that can be read was kept */ }
  saved = votes.size;
  page.order = inOrder();
  store();
  next();
}

function store() {
  const kept = JSON.stringify([...votes.values()]);
  remember(place(), kept);
  isKept = recall(place()) === kept;
  note.hidden = false;
  note.replaceChildren(say('span', isKept ? "You can close the page and go on later, in this browser and under the same name." : "This browser keeps nothing for this page: save your votes before you close it."));
}

function next() {
  const pair = page.order.find((one) => !votes.has(one.ticket));
  const progress = ["{} of {}", [votes.size, page.order.length]];
  const near = votes.size / page.order.length;
  save.disabled = !votes.size;
  save.className = pair ? 'plain' : 'primary';
  if (!pair) show({ done: "That was the last pair. Thank you. Save your votes, and send the file to the person who gave you this page.", progress, near });
  else goOn({ ...pair, progress, near, source: picture(pair.source), left: picture(pair.left), right: picture(pair.right) });
  if (!pair) save.focus();
}

function keep(choice, seconds) {
  const { ticket } = page.task;
  votes.set(ticket, { ticket, choice, seconds: Math.round(seconds * 100) / 100, at: Date.now() / 1000 });
  store();
  next();
}

const save = say('button', "Save votes", [], { type: 'button', class: 'plain', id: 'save' });
save.addEventListener('click', () => {
  const lines = [{ page: data.page, rater: page.rater, votes: votes.size }, ...votes.values()].map(sealed);
  const address = URL.createObjectURL(new Blob(lines, { type: 'application/x-ndjson' }));
  const name = page.rater.replace(/[^\p{L}\p{N}_-]+/gu, '-');
  make('a', { href: address, download: `votes-${name}-${data.page.slice(0, 6)}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  saved = votes.size;
});
const note = make('p', { class: 'detail-keys', hidden: true });
ballot.append(make('div', { class: 'vote-save' }, save), note);

addEventListener('beforeunload', (event) => { if (!isKept && votes.size > saved) event.preventDefault(); });
beginBallot();
