import { type Html, html } from './html.ts';

type Tone = 'info' | 'success' | 'warning' | 'error';

/** `alert` interrupts a screen reader, `status` waits. */
export function notice(tone: Tone, content: Html | string): Html {
  return html`<div class="notice ${tone}" role="${tone === 'error' ? 'alert' : 'status'}">${content}</div>`;
}

type FieldProps = {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'tel';
  readonly value?: string;
  readonly hint?: string;
  /** Several for a field of several lines. */
  readonly errors?: readonly string[] | undefined;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly autofocus?: boolean;
  /** Needed where a page has several fields with this name. */
  readonly id?: string;
};

/** An input with label, hint and errors, linked for screen readers. */
export function field(props: FieldProps): Html {
  const { name, type = 'text', value = '', autocomplete, required, maxLength, minLength, autofocus } = props;
  const { id = name } = props;
  const input = html`<input id="${id}" name="${name}" type="${type}" value="${type === 'password' ? '' : value}"${attributes(
    {
      autocomplete,
      maxlength: maxLength,
      minlength: minLength,
      required,
      // Browsers focus the first of several, which is the first field to correct.
      autofocus: autofocus || (props.errors !== undefined && props.errors.length > 0),
    },
  )}${descriptions(props)}>`;
  const reveal = html`<button type="button" data-reveal="${id}" aria-pressed="false" aria-label="Show ${props.label.toLowerCase()}" hidden>Show</button>`;
  return labelled(
    props,
    type === 'password' ? html`<div class="with-button">${input}${reveal}</div>` : input,
  );
}

export function textArea(props: FieldProps & { readonly rows?: number }): Html {
  const { name, id = name, value = '', required, rows = 4 } = props;
  return labelled(
    props,
    html`<textarea id="${id}" name="${name}" rows="${rows}" spellcheck="false"${attributes({ required })}${descriptions(props)}>${value}</textarea>`,
  );
}

function labelled({ name, id = name, label, hint, errors }: FieldProps, control: Html): Html {
  return html`<div class="field">
<label for="${id}">${label}</label>
${control}
${errors?.length === 1 && html`<span class="error" id="${id}-error">${errors[0]}</span>`}
${errors && errors.length > 1 && html`<ul class="error" id="${id}-error">${errors.map((error) => html`<li>${error}</li>`)}</ul>`}
${hint && html`<span class="hint" id="${id}-hint">${hint}</span>`}
</div>`;
}

function descriptions({ name, id = name, hint, errors }: FieldProps): Html {
  const wrong = errors !== undefined && errors.length > 0;
  const ids = [wrong && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return html`${ids && html` aria-describedby="${ids}"`}${wrong && html` aria-invalid="true"`}`;
}

function attributes(values: Record<string, string | number | boolean | undefined>): Html {
  const present = Object.entries(values).filter(([, value]) => value !== undefined && value !== false);
  return html`${present.map(([name, value]) => (value === true ? html` ${name}` : html` ${name}="${String(value)}"`))}`;
}

/** Content of an empty list: why it is empty, and what to do. */
export function emptyState(title: string, text: string, action?: Html): Html {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p>${action}</div>`;
}

export function crumbs(
  ancestors: readonly (readonly [path: string, label: string])[],
  current: string,
): Html {
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>
${ancestors.map(
  ([path, label]) => html`<li><a href="${path}">${label}</a></li>
`,
)}<li aria-current="page">${current}</li>
</ol></nav>`;
}

/** A value to copy: fully visible, selected by one click, with a copy button where script runs. */
export function copyable(id: string, label: string, value: Html | string): Html {
  return html`<div class="copyable"><code id="${id}">${value}</code><button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></div>`;
}

/** Several lines of code with a button to copy them. */
export function codeBlock(id: string, label: string, text: string, className = ''): Html {
  return html`<div class="stack tight"><div class="row spread"><h3>${label}</h3><button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></div>
<pre class="${className}" tabindex="0" role="region" aria-label="${label}"><code id="${id}">${text}</code></pre></div>`;
}

/** The anti-forgery value of a form, checked by `Browser.hasValidCsrfToken`. */
export function csrfField(csrfToken: string): Html {
  return html`<input type="hidden" name="form_token" value="${csrfToken}">`;
}

/** A form that shows only its button. */
export function buttonForm(props: {
  readonly action: string;
  readonly csrfToken: string;
  readonly label: string;
  readonly className?: string;
  readonly fields?: Readonly<Record<string, string>>;
}): Html {
  const { action, csrfToken, label, className = '', fields = {} } = props;
  return html`<form method="post" action="${action}">
${csrfField(csrfToken)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="${className}">${label}</button>
</form>`;
}

/** In UTC: the server does not know the reader's time zone. */
export function moment(ms: number): Html {
  const iso = new Date(ms).toISOString();
  const words = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  }).format(ms);
  return html`<time datetime="${iso}">${words} UTC</time>`;
}

/** How long ago, with the exact time as a tooltip. */
export function momentAgo(ms: number, now: number): Html {
  return html`<time datetime="${new Date(ms).toISOString()}" title="${new Date(ms).toUTCString()}">${ago(ms, now)}</time>`;
}

export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ];
  for (const [length, unit] of units) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}

const LIST = new Intl.ListFormat('en-GB', { type: 'conjunction' });

/** "a, b and c". */
export const listed = (parts: readonly string[]): string => LIST.format(parts);

/** Shorter durations are given more precisely. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  const units: readonly (readonly [number, string])[] = [
    [86_400_000, 'days'],
    [3_600_000, 'hours'],
    [60_000, 'minutes'],
  ];
  const [length, unit] = units.find(([length]) => ms >= 2 * length) ?? units[2]!;
  return `${Math.floor(ms / length)} ${unit}`;
}

/** To the millisecond, for events that are close together. */
export function exactMoment(ms: number): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC</time>`;
}
