// Everything is there: begin.
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
// Vega stands behind this script: it takes longer to read than the cards to make.
addEventListener('vega', startCharts, { once: true });
