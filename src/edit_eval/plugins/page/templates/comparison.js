// A card's pictures: source and edit beside each other, under a slider, or as their difference.
// Thumbnails come after this script: undefined for one the browser has not read yet, '' for a missing one.
function thumbnailOf(picture) {
  if (typeof picture.thumbnail === 'string') return picture.thumbnail; // an address: from a server, or beside the page
  const element = document.getElementById(`thumbnail-${picture.thumbnail}`);
  const whole = element && (element.nextSibling || document.readyState !== 'loading');
  if (whole) return element.textContent && `data:image/jpeg;base64,${element.textContent}`;
  return document.readyState === 'loading' ? undefined : '';
}

// True if the thumbnail is a file beside a page on disk.
function isBeside({ thumbnail }) {
  return typeof thumbnail === 'string' && location.protocol === 'file:';
}

const MISSING = {
  unreadable: "The picture cannot be read.",
  not_beside: "The picture cannot be read, or the folder thumbnails is not beside this page.",
  no_edit: "No edit was made.",
  source_missing: "The source image was not on the computer that drew this page.",
  edit_gone: "The file of this edit is no longer there.",
  other_missing: "This picture was not on the computer that drew this page.",
};

function whyMissing(picture) {
  return MISSING[picture.missing] || (thumbnailOf(picture) === '' ? MISSING.unreadable : null);
}

const awaited = []; // [image, picture]: shown as soon as they are read

function showThumbnail(shown, picture) {
  const thumbnail = thumbnailOf(picture);
  if (thumbnail === undefined) {
    if (!awaited.length) setTimeout(showAwaited, 20);
    awaited.push([shown, picture]);
  } else if (thumbnail === '') {
    shown.closest('.frame').replaceWith(placeholder(MISSING.unreadable, '', ''));
  } else if (!shown.getAttribute('src')) {
    shown.src = thumbnail;
  }
}

function showAwaited() {
  for (const [shown, picture] of awaited.splice(0)) {
    if (shown.isConnected) showThumbnail(shown, picture);
  }
}

function image(picture, alt, values, whole = null) {
  const shown = make('img', {
    ...labelled('alt', alt, values),
    decoding: 'async', draggable: 'false', loading: typeof picture.thumbnail === 'string' && !whole && 'lazy',
  });
  shown.addEventListener('error', () => {
    const frame = shown.closest('.frame');
    if (frame) frame.replaceWith(placeholder(isBeside(picture) ? MISSING.not_beside : MISSING.unreadable, '', ''));
  });
  showThumbnail(shown, picture);
  if (whole && picture.file) {
    // The file itself replaces the thumbnail if it still exists.
    const file = new Image();
    file.onload = () => {
      shown.src = file.src;
      whole(true);
    };
    file.onerror = () => whole(false);
    file.src = picture.file;
  }
  return shown;
}

function placeholder(why, status, reason) {
  return make('div', { class: 'frame missing' }, make('p', {},
    status ? sayStatus('strong', status) : null,
    reason ? sayReason('span', reason) : say('span', why)));
}

function sourceFrame(sample) {
  if (whyMissing(sample.source)) return placeholder(whyMissing(sample.source), '', '');
  return make('div', { class: 'frame' }, image(sample.source, "Source image of {}", [sample.id]));
}

function editFrame(sample, edit, view) {
  if (edit.status !== 'ok') return placeholder(MISSING.no_edit, edit.status, edit.reason);
  if (whyMissing(edit.picture)) return placeholder(whyMissing(edit.picture), '', '');
  const about = ["Edit of {} by {}", [sample.id, edit.model]];
  if (view === 'beside') {
    return make('div', { class: 'frame' }, image(edit.picture, ...about));
  }
  if (whyMissing(sample.source)) return placeholder(whyMissing(sample.source), '', '');
  const source = image(sample.source, "Source image of {}", [sample.id]);
  const difference = ["Difference of {} and {}, {}", [sentence("Source"), edit.model, sample.id]];
  const edited = image(edit.picture, ...(view === 'difference' ? difference : about));
  const frame = make('div', { class: `frame layered ${view}` }, source, edited);
  if (view === 'difference') {
    source.alt = '';
    source.removeAttribute('data-words-alt');
    return frame;
  }
  const slider = make('input', {
    type: 'range', min: 0, max: 100, step: 0.5, value: 50, class: 'slider',
    ...labelled('label', "Slide between the two pictures"),
  });
  slider.addEventListener('input', () => frame.style.setProperty('--position', `${slider.value}%`));
  frame.append(make('span', { class: 'handle', 'aria-hidden': 'true' }), slider);
  return frame;
}
