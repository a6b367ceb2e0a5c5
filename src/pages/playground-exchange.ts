import { type Html, html } from './html.ts';
import { codeBlock } from './parts.ts';

export type RawRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
};

export type Exchange = {
  readonly request: RawRequest;
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
};

/** A request and its response as sent, and the request as curl and TypeScript. */
export function exchangePanel(exchange: Exchange, index: number): Html {
  const { request, status } = exchange;
  const tone = status < 400 ? 'success' : 'danger';
  const errorPath = errorPathOf(exchange);
  return html`<section class="panel" aria-label="Request ${index + 1}">
<header class="row"><h2>${request.method} ${new URL(request.url).pathname}</h2><span class="badge ${tone}">${status}</span></header>
<div class="body stack">
${codeBlock(`request-${index}`, 'Request', rawRequest(request), 'verbatim')}
${codeBlock(`response-${index}`, 'Response', rawResponse(exchange), 'verbatim')}
${errorPath && html`<p><a href="${errorPath}">Why it failed: the entry in the request log</a></p>`}
<details><summary>As curl</summary>${codeBlock(`curl-${index}`, 'curl', asCurl(request))}</details>
<details><summary>As TypeScript</summary>${codeBlock(`ts-${index}`, 'TypeScript', asTypeScript(request))}</details>
</div>
</section>`;
}

/** The path of `error_uri`, which is on this very server. */
function errorPathOf({ body }: Exchange): string | undefined {
  const uri = /"error_uri":"([^"]+)"/.exec(body)?.[1];
  return uri && new URL(uri).pathname;
}

function rawRequest({ method, url, headers, form }: RawRequest): string {
  const { host, pathname } = new URL(url);
  const lines = [`${method} ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (form) lines.push('', new URLSearchParams(form).toString().replaceAll('&', '\n&'));
  return lines.join('\n');
}

function rawResponse({ status, statusText, headers, body }: Exchange): string {
  const lines = [`HTTP/1.1 ${status} ${statusText}`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return `${lines.join('\n')}\n\n${body}`;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function asCurl({ url, headers, form }: RawRequest): string {
  const parts = [`curl -i ${shellQuoted(url)}`];
  if (!form)
    for (const [name, value] of Object.entries(headers)) parts.push(`-H ${shellQuoted(`${name}: ${value}`)}`);
  for (const [name, value] of Object.entries(form ?? {}))
    parts.push(`--data-urlencode ${shellQuoted(`${name}=${value}`)}`);
  return parts.join(' \\\n  ');
}

function asTypeScript({ method, url, headers, form }: RawRequest): string {
  const options = form
    ? `{\n  method: '${method}',\n  body: new URLSearchParams(${JSON.stringify(form, null, 2).replaceAll('\n', '\n  ')}),\n}`
    : `{ headers: ${JSON.stringify(headers)} }`;
  return `const response = await fetch(${JSON.stringify(url)}, ${options});\nconsole.log(response.status, await response.json());`;
}
