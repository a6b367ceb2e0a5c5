import { type Html, html } from './html.ts';
import { gateLayout } from './layout.ts';

export type MessageProps = {
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly next?: { readonly path: string; readonly label: string };
  readonly requestId?: string;
};

export function messagePage({ title, paragraphs, next, requestId }: MessageProps): Html {
  return gateLayout(
    title,
    html`<h1>${title}</h1>
${paragraphs.map((paragraph) => html`<p>${paragraph}</p>\n`)}
${next && html`<div class="actions even"><a class="button primary" href="${next.path}">${next.label}</a></div>`}
${requestId && html`<p class="muted small">Request ${requestId}</p>`}`,
  );
}
