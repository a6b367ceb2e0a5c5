import type { App } from '../app.ts';
import { formOf } from '../http/form.ts';
import { type HtmlResponseOptions, htmlResponse } from '../http/html-response.ts';
import type { Handler, HttpRequest } from '../http/request.ts';
import { type HttpResponse, withHeaders } from '../http/response.ts';
import type { Html } from '../pages/html.ts';
import { messagePage } from '../pages/message.ts';
import { Browser } from './browser.ts';

/** A request to a page that needs nobody signed in, and the answers such pages give. */
export type PublicRequest = {
  readonly http: HttpRequest;
  readonly browser: Browser;
  readonly query: ReadonlyMap<string, string>;
  readonly form: ReadonlyMap<string, string>;
  readonly show: (content: (csrfToken: string) => Html, options?: HtmlResponseOptions) => HttpResponse;
};

/** A posted form must be one of ours, as everywhere: else 403, and nothing done. */
export function publicPage(
  handler: (app: App, request: PublicRequest) => Promise<HttpResponse> | HttpResponse,
): Handler {
  return async (app, http) => {
    const browser = new Browser(app, http);
    const form = http.method === 'POST' ? formOf(http) : new Map<string, string>();
    if (http.method === 'POST' && !browser.hasValidCsrfToken(form)) return outOfDate(http);
    const show = (content: (csrfToken: string) => Html, options: HtmlResponseOptions = {}): HttpResponse => {
      const response = htmlResponse(content(browser.csrfToken()), options);
      // These pages are reached by links that hold a token: no Referer may carry it on.
      return withHeaders(response, { 'referrer-policy': 'no-referrer', ...browser.headers() });
    };
    return handler(app, { http, browser, query: http.query, form, show });
  };
}

function outOfDate(http: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'This form is out of date',
    paragraphs: ['Nothing was changed. Go back, reload the page and try again.'],
    requestId: http.id,
  });
  return htmlResponse(content, { status: 403, diagnostics: { reason: 'form_token' } });
}

/** Asked for too often from one place. */
export function tooManyMails({ show }: PublicRequest, seconds: number): HttpResponse {
  const minutes = Math.ceil(seconds / 60);
  const content = messagePage({
    title: 'Please wait a little',
    paragraphs: [
      `Too many mails were asked for from your network. Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    ],
  });
  return show(() => content, { status: 429, headers: { 'retry-after': String(seconds) } });
}

/** A link that was used, has expired or never was one: which of these is nobody's business. */
export function deadLink(
  { show }: PublicRequest,
  next: { readonly path: string; readonly label: string },
): HttpResponse {
  const content = messagePage({
    title: 'This link no longer works',
    paragraphs: ['It was used already or has expired. Each link works once and for a short time.'],
    next,
  });
  return show(() => content, { status: 400, diagnostics: { reason: 'dead_link' } });
}
