// Printing does not wait, so before it begins all charts are drawn in paper width and light colours, and all chosen
// cards, tables and scores are made. Listings of the configuration stay as the reader left them.
let beforePrinting = null;

function everythingShown() {
  const closed = [...document.querySelectorAll('details:not([open]):not(:has(pre))')];
  const hidden = [...document.querySelectorAll('.choice[hidden]')];
  beforePrinting = { closed, hidden, theme: root.dataset.theme, page: pageNumber };
  for (const one of closed) one.open = true;
  for (const one of hidden) one.hidden = false;
  root.dataset.theme = 'light';
  root.classList.add('printing');
  reserveRoom();
  for (const figure of charts.keys()) drawChart(figure).catch((error) => console.error(error)); // finishes before the paper is laid out
  showPage(0, Math.max(1, chosen.length));
}

function asBefore() {
  if (!beforePrinting) return;
  const { closed, hidden, theme, page } = beforePrinting;
  beforePrinting = null;
  for (const one of closed) one.open = false;
  for (const one of hidden) one.hidden = true;
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  root.classList.remove('printing');
  redrawCharts();
  showPage(page);
}

function startPrinting() {
  addEventListener('beforeprint', everythingShown);
  addEventListener('afterprint', asBefore);
}

// Everything is defined: start.
function startCopying() {
  for (const button of document.querySelectorAll('[data-copy]')) {
    button.addEventListener('click', async () => {
      const listing = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(listing.textContent);
        button.replaceChildren(say('span', "Copied"));
      } catch (error) {
        getSelection().selectAllChildren(listing); // no clipboard here: at least it is selected
      }
    });
  }
}

reserveRoom();
startGallery();
startVerdict();
startChoice();
startDetail();
startSelection();
startAddress();
startPreferences();
startCopying();
startPrinting();
// Vega comes after this script: parsing it takes longer than making the cards. It may be there before the data are.
if (window.vegaEmbed) startCharts();
else addEventListener('vega', startCharts, { once: true });
