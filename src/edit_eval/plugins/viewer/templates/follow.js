// Messages pushed by the server, and what to say if it does not answer.
const STATES = { // of a run
  reading: "reading",
  working: "at work",
  silent: "at work; no news for a while",
  stopped: "stopped before its end",
  complete: "complete",
  damaged: "cannot be read",
  incomparable: "cannot be compared",
};
let lost = null;

function sayLost(yes) {
  if (yes && !lost) {
    lost = say('p', "The viewer does not answer. Trying again; the page shows the last known state.", [], { class: 'lost', role: 'status' });
    document.body.append(lost);
  } else if (!yes && lost) {
    lost.remove();
    lost = null;
  }
}

// Receives messages while the page is visible: a hidden page keeps no connection, because browsers allow only a few.
function follow(address, seen, handlers) {
  let source = null;
  let retry = null;
  const stop = () => {
    clearTimeout(retry);
    if (source) source.close();
    source = null;
  };
  const start = () => {
    stop();
    source = new EventSource(`${address}${seen.value ? `?since=${encodeURIComponent(seen.value)}` : ''}`);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (message) => handle(JSON.parse(message.data)));
    }
    source.onopen = () => sayLost(false);
    source.onerror = () => {
      stop();
      sayLost(true);
      retry = setTimeout(start, 1000);
    };
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) retry = setTimeout(stop, 3000);
    else if (source) clearTimeout(retry);
    else start();
  });
  addEventListener('pagehide', stop);
  start();
}

function timeWords(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 90) return `${whole} s`;
  const minutes = Math.round(whole / 60);
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function bar(parts) {
  const made = make('div', { class: 'bar' });
  for (const [share, kind] of parts) {
    const part = make('i', { class: kind });
    part.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    made.append(part);
  }
  return made;
}
