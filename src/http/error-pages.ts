import { type MessageProps, messagePage } from '../pages/message.ts';
import { NOT_FOUND } from '../protocol/errors.ts';
import { htmlResponse } from './html-response.ts';
import type { HttpRequest } from './request.ts';
import type { HttpResponse } from './response.ts';

const PAGE_NOT_FOUND: MessageProps = { title: 'Page not found', paragraphs: [NOT_FOUND] };

/** Also for what belongs to somebody else: nobody learns that it exists. */
export function notFoundResponse(content: MessageProps = PAGE_NOT_FOUND): HttpResponse {
  return htmlResponse(messagePage(content), { status: 404 });
}

/** A form without a valid CSRF token: nothing was done. */
export function invalidCsrfTokenResponse(request: HttpRequest): HttpResponse {
  const content = messagePage({
    title: 'This form is out of date',
    paragraphs: ['Nothing was changed. Go back, reload the page and try again.'],
    requestId: request.id,
  });
  return htmlResponse(content, { status: 403, diagnostics: { reason: 'csrf_token' } });
}
