import { type Html, html } from './html.ts';
import { crumbs } from './parts.ts';

type ApplicationTab = 'settings' | 'requests' | 'incidents' | 'usage';

const TABS: readonly (readonly [ApplicationTab, string, string])[] = [
  ['settings', '', 'Application'],
  ['requests', '/requests', 'Requests'],
  ['incidents', '/incidents', 'Incidents'],
  ['usage', '/usage', 'Usage'],
];

export function applicationTabs(clientId: string, current: ApplicationTab): Html {
  const path = `/dashboard/apps/${clientId}`;
  const tab = ([id, suffix, label]: (typeof TABS)[number]) =>
    html`<a class="tab" href="${path}${suffix}"${id === current && html` aria-current="page"`}>${label}</a>\n`;
  return html`<nav class="tabs" aria-label="This application">
${TABS.map(tab)}<a class="tab" href="/dashboard/playground">Playground</a>
</nav>`;
}

/** Breadcrumb, title and tabs of a page about one application. */
export function applicationHead(
  { clientId, name }: { readonly clientId: string; readonly name: string },
  current: ApplicationTab,
  title: string,
  ancestors: readonly (readonly [path: string, label: string])[] = [],
): Html {
  const path = `/dashboard/apps/${clientId}`;
  return html`${crumbs([['/dashboard', 'Applications'], [path, name], ...ancestors], title)}
<h1>${title}</h1>
${applicationTabs(clientId, current)}`;
}
