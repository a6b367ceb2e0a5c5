import { assetPath } from './assets.ts';
import { type Html, html } from './html.ts';
import { csrfField } from './parts.ts';

/** A gate in a wall. */
const LOGO = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" aria-hidden="true"><path d="M5 21V11a7 7 0 0 1 14 0v10M2.5 21h19M12 21v-9"/><circle cx="14.75" cy="15" r=".6" fill="currentColor"/></svg>`;

function page(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Postern</title>
<link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetPath('postern.css')}">
<script src="${assetPath('postern.js')}" type="module"></script>
</head>
<body>
${content}
</body>
</html>
`;
}

/** One card in the middle of the page: sign-in, consent, messages. */
export function gateLayout(title: string, content: Html, footer?: Html): Html {
  return page(
    title,
    html`<div class="gate">
<a class="brand" href="/">${LOGO}Postern</a>
<main class="stack">
${content}
</main>
${footer && html`<footer>${footer}</footer>`}
</div>`,
  );
}

/** A wide page that needs no session. */
export function openLayout(title: string, content: Html): Html {
  return page(
    title,
    html`<a class="skip" href="#content">Skip to content</a>
<header class="bar"><div><a class="brand" href="/">${LOGO}Postern</a></div></header>
<main class="shell" id="content">
${content}
</main>`,
  );
}

type Section = 'account' | 'connections' | 'dashboard';

/** Values for the header of a signed-in user's pages, and for the forms on them. */
export type Frame = { readonly email: string; readonly csrfToken: string };

const SECTIONS: readonly (readonly [Section, string, string])[] = [
  ['account', '/account', 'Account'],
  ['connections', '/account/connections', 'Connections'],
  ['dashboard', '/dashboard', 'Applications'],
];

/** A page of a signed-in user, with navigation and sign-out. */
export function shellLayout(title: string, section: Section, frame: Frame, content: Html): Html {
  const link = ([id, path, label]: readonly [Section, string, string]) =>
    html`<a href="${path}"${id === section && html` aria-current="page"`}>${label}</a>\n`;
  return page(
    title,
    html`<a class="skip" href="#content">Skip to content</a>
<header class="bar"><div>
<a class="brand" href="/">${LOGO}Postern</a>
<nav aria-label="Main">
${SECTIONS.map(link)}</nav>
<form class="who" method="post" action="/logout">
${csrfField(frame.csrfToken)}
<span>${frame.email}</span>
<button class="link">Sign out</button>
</form>
</div></header>
<main class="shell" id="content">
${content}
</main>`,
  );
}
