import type {
  ApiDocument,
  Content,
  Example,
  Header,
  Operation,
  Response,
  Schema,
} from '../protocol/openapi-document.ts';
import { type Html, html } from './html.ts';
import { openLayout } from './layout.ts';

type Row = {
  readonly name: string;
  readonly kind: string;
  readonly required: boolean;
  readonly text: string;
};

/** The same document as /openapi.json, for people. */
export function referencePage(document: ApiDocument): Html {
  const { info, servers, paths } = document;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return openLayout(
    'Reference for applications',
    html`<h1>${info.title}: reference for applications</h1>
<p>${info.description}</p>
<dl class="facts">
<dt>Base address</dt><dd><code>${servers[0]?.url}</code></dd>
<dt>For machines</dt><dd><a href="/openapi.json">OpenAPI</a>, <a href="/.well-known/oauth-authorization-server">metadata</a> (RFC 8414)</dd>
</dl>
<nav aria-label="Endpoints"><ul>
${operations.map(({ path, method, operation }) => html`<li><a href="#${operation.operationId}">${method} ${path}</a>: ${operation.summary}</li>\n`)}</ul></nav>
${operations.map(({ path, method, operation }) => section(document, method, path, operation))}`,
  );
}

function section(document: ApiDocument, method: string, path: string, operation: Operation): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const query = parameters.map(({ name, required, schema, description: text }) => ({
    name,
    required,
    kind: kindOf(schema),
    text,
  }));
  return html`<section class="panel" id="${operationId}" aria-labelledby="${operationId}-title">
<header class="stack tight">
<h2 id="${operationId}-title">${summary}</h2>
<p class="mono">${method} ${path}</p>
</header>
<div class="body stack">
<p>${description}</p>
${query.length > 0 && fields('Query', query)}
${requestBody && bodyFields(document, requestBody.content)}
${Object.entries(responses).map(([status, response]) => responseDetails(document, status, response))}
</div>
</section>`;
}

/** One list of fields per alternative; every content type has the same ones. */
function bodyFields(document: ApiDocument, content: Content): Html {
  const types = Object.keys(content);
  const schema = resolved(document, content[types[0]!]!.schema);
  const alternatives = (schema.oneOf ?? [schema]).map((alternative) => resolved(document, alternative));
  return html`<p class="muted">Body: ${types.map((type, index) => html`${index > 0 && ' or '}<code>${type}</code>`)}</p>
${alternatives.map((alternative) => fields(alternative.title ?? 'Body', rowsOf(alternative)))}`;
}

function responseDetails(document: ApiDocument, status: string, response: Response): Html {
  const { description, headers = {}, content = {} } = response;
  const media = Object.values(content)[0];
  const schema = media && resolved(document, media.schema);
  const rows = schema && Number(status) < 400 ? rowsOf(schema) : [];
  return html`<details${status === '200' && html` open`}>
<summary>${status} <span class="muted">${description}</span></summary>
<div class="stack">
${rows.length > 0 && fields('Fields', rows)}
${Object.keys(headers).length > 0 && fields('Headers', Object.entries(headers).map(headerRow))}
${Object.values(headers).flatMap(({ examples = {} }) => Object.values(examples).map(example))}
${Object.values(media?.examples ?? {}).map(example)}
</div>
</details>`;
}

function example({ summary, value }: Example): Html {
  return html`<figure class="stack tight">
<figcaption>${summary}.</figcaption>
<pre tabindex="0"><code>${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</code></pre>
</figure>`;
}

function fields(caption: string, rows: readonly Row[]): Html {
  const row = ({ name, kind, required, text }: Row) =>
    html`<dt><code>${name}</code></dt><dd><span class="muted small">${kind}${!required && ', optional'}</span><br>${text}</dd>\n`;
  return html`<div class="stack tight">
<h3>${caption}</h3>
<dl class="facts">
${rows.map(row)}</dl>
</div>`;
}

const headerRow = ([name, { description, required, schema }]: [string, Header]): Row => ({
  name,
  kind: kindOf(schema),
  required,
  text: description,
});

function rowsOf({ properties = {}, required = [] }: Schema): Row[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    kind: kindOf(schema),
    required: required.includes(name),
    text: schema.description ?? '',
  }));
}

function kindOf({ type = '', const: fixed, enum: values }: Schema): string {
  if (fixed !== undefined) return `${type}: ${fixed}`;
  return values ? `${type}: ${values.join(', ')}` : type;
}

function resolved({ components }: ApiDocument, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const target = components.schemas[schema.$ref.replace('#/components/schemas/', '')];
  if (!target) throw new Error(`there is no schema ${schema.$ref}`);
  return target;
}
