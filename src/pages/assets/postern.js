// Comfort only: every page does all it must without this file.

// Buttons that need script are hidden until there is some.
// Copying also needs an address that the browser calls secure: https or localhost.
const usable = navigator.clipboard ? '[data-copy], [data-reveal]' : '[data-reveal]';
for (const button of document.querySelectorAll(usable)) button.hidden = false;

// What a screen reader is to say although nothing on the page got the focus.
const spoken = document.createElement('p');
spoken.className = 'visually-hidden';
spoken.setAttribute('role', 'status');
document.body.append(spoken);

document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy], [data-reveal]');
  if (!button) return;
  if (button.dataset.copy) {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    spoken.textContent = 'Copied';
    if (button.dataset.copied) return;
    const label = [...button.childNodes];
    button.dataset.copied = 'yes';
    button.replaceChildren('Copied');
    setTimeout(() => {
      delete button.dataset.copied;
      button.replaceChildren(...label);
      spoken.textContent = '';
    }, 2000);
  } else {
    const input = document.getElementById(button.dataset.reveal);
    const show = input.type === 'password';
    input.type = show ? 'text' : 'password';
    button.textContent = show ? 'Hide' : 'Show';
    button.setAttribute('aria-pressed', String(show));
  }
});

// One form, one request: a second click while the first is under way does nothing.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = 'yes';
  for (const button of form.querySelectorAll('button')) button.setAttribute('aria-disabled', 'true');
});
// A page that comes back from the browser's history can be used again.
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  for (const form of document.forms) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll('button')) button.removeAttribute('aria-disabled');
  }
});
