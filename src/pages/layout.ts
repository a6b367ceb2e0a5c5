import { asset } from './assets.ts';
import { type Html, html } from './html.ts';

/** The frame of every page. */
export function layout(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Postern</title>
<link rel="stylesheet" href="${asset('postern.css')}">
</head>
<body>
<main class="card">
${content}
</main>
</body>
</html>
`;
}
