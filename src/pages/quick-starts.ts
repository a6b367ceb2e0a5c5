import { readFileSync } from 'node:fs';
import { type Html, html } from './html.ts';
import { codeBlock } from './parts.ts';

/** Values that the templates are filled with. The client secret is not one of them: it stays in the environment. */
export type QuickStartProps = {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
};

/** How a template quotes strings, and how the quote is written inside such a string. */
type Quoting = { readonly quote: string; readonly escaped: string };

const SHELL: Quoting = { quote: "'", escaped: `'\\''` };
const JAVASCRIPT: Quoting = { quote: "'", escaped: "\\'" };
/** A redirect URI contains neither a double quote nor a backslash nor a space (protocol/redirect-uri.ts). */
const DOUBLE_QUOTED: Quoting = { quote: '"', escaped: '\\"' };

type QuickStart = {
  readonly id: string;
  readonly label: string;
  readonly install?: string;
  readonly quoting: Quoting;
  readonly template: string;
};

const template = (name: string): string =>
  readFileSync(new URL(`./quick-starts/${name}.template`, import.meta.url), 'utf8');

/** Read once. */
const QUICK_STARTS: readonly QuickStart[] = [
  { id: 'curl', label: 'curl', quoting: SHELL, template: template('curl.sh') },
  {
    id: 'node',
    label: 'Node with openid-client',
    install: 'npm install openid-client',
    quoting: JAVASCRIPT,
    template: template('node.mjs'),
  },
  {
    id: 'express',
    label: 'Express with Passport',
    install: 'npm install express express-session passport passport-oauth2',
    quoting: JAVASCRIPT,
    template: template('express.mjs'),
  },
  {
    id: 'python',
    label: 'Python with Authlib',
    install: 'pip install authlib requests',
    quoting: DOUBLE_QUOTED,
    template: template('python.py'),
  },
  {
    id: 'go',
    label: 'Go with x/oauth2',
    install: 'go get golang.org/x/oauth2',
    quoting: DOUBLE_QUOTED,
    template: template('go.go'),
  },
];

/** The first lines of an integration, with this application's client_id filled in. */
export function quickStartsPanel(props: QuickStartProps): Html {
  const item = (quickStart: QuickStart) => html`<details>
<summary>${quickStart.label}</summary>
<div class="stack">
${quickStart.install && html`<p><code>${quickStart.install}</code></p>`}
${codeBlock(`quick-start-${quickStart.id}`, quickStart.label, filled(quickStart, props))}
</div>
</details>
`;
  return html`<section class="panel" aria-labelledby="quick-starts">
<header><h2 id="quick-starts">Quick starts</h2></header>
<div class="body stack">
<p class="muted">Set CLIENT_SECRET in the environment; it is in none of these.</p>
${QUICK_STARTS.map(item)}</div>
</section>`;
}

/**
 * `{{name}}` stands inside quotes, a list as one such string per entry. Libraries refuse plain http by default, so
 * `{{#plain_http}}…{{/plain_http}}` allows it, but only for such a base URL (a server on the developer's machine).
 */
function filled({ template, quoting: { quote, escaped } }: QuickStart, props: QuickStartProps): string {
  const values = valuesOf(props);
  const insert = (text: string) => text.replaceAll(quote, escaped);
  return template
    .replaceAll(
      /\{\{#plain_http\}\}([\s\S]*?)\{\{\/plain_http\}\}/g,
      props.baseUrl.startsWith('http:') ? '$1' : '',
    )
    .replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`a quick start has an unknown placeholder: ${name}`);
      return typeof value === 'string' ? insert(value) : value.map(insert).join(`${quote}, ${quote}`);
    });
}

function valuesOf({ baseUrl, clientId, redirectUri, scope }: QuickStartProps) {
  const query = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope };
  const values: Readonly<Record<string, string | readonly string[]>> = {
    base_url: baseUrl,
    client_id: clientId,
    redirect_uri: redirectUri,
    redirect_path: new URL(redirectUri).pathname,
    scope,
    scopes: scope.split(' '),
    authorize_query: new URLSearchParams(query).toString(),
  };
  return values;
}
