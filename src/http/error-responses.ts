import { messagePage } from '../pages/message.ts';
import { BODY_TOO_LARGE, METHOD_NOT_ALLOWED, NOT_FOUND, protocolError } from '../protocol/errors.ts';
import { type FailureReason, NO_DETAILS } from '../protocol/failure-reason.ts';
import type { Diagnostics } from '../request-log/diagnostics.ts';
import { notFoundResponse } from './error-pages.ts';
import { htmlResponse } from './html-response.ts';
import type { HttpRequest } from './request.ts';
import { errorResponse, type HttpResponse, withHeaders } from './response.ts';

/**
 * `temporarily_unavailable`: it is known that nothing was changed. `outcome_unknown`: the database's response was lost.
 */
export type UnexpectedFailure = Extract<
  FailureReason,
  'temporarily_unavailable' | 'outcome_unknown' | 'server_error'
>;

/** Responses to requests that no handler answered: a page where a browser asked for one, else JSON. */
export class ErrorResponses {
  readonly #isPage: (path: string) => boolean;

  constructor(isPage: (path: string) => boolean) {
    this.#isPage = isPage;
  }

  methodNotAllowed(allowed: readonly string[]): HttpResponse {
    return withHeaders(errorResponse(protocolError('invalid_request', METHOD_NOT_ALLOWED, 405)), {
      allow: allowed.join(', '),
    });
  }

  notFound({ path }: HttpRequest): HttpResponse {
    if (!this.#isPage(path)) return errorResponse(protocolError('invalid_request', NOT_FOUND, 404));
    return notFoundResponse();
  }

  malformedPath(request: HttpRequest): HttpResponse {
    const diagnostics = { reason: 'malformed_path' } as const;
    return this.#isPage(request.path)
      ? notTaken(request, 400, 'What was sent cannot be read. Nothing was changed.', diagnostics)
      : errorResponse('invalid_request', diagnostics);
  }

  bodyTooLarge(request: HttpRequest): HttpResponse {
    const diagnostics = { reason: 'body_too_large' } as const;
    return this.#isPage(request.path)
      ? notTaken(request, 413, BODY_TOO_LARGE, diagnostics)
      : errorResponse(protocolError('invalid_request', BODY_TOO_LARGE, 413), diagnostics);
  }

  failed(request: HttpRequest, reason: UnexpectedFailure): HttpResponse {
    const busy = reason === 'temporarily_unavailable';
    if (!this.#isPage(request.path))
      return errorResponse(busy ? 'temporarily_unavailable' : 'server_error', diagnosticsOf(request, reason));
    const content = messagePage({
      title: busy ? 'Busy right now' : 'Something went wrong',
      paragraphs: ['Nothing was changed that you did not see confirmed. Please try again in a moment.'],
      requestId: request.id,
    });
    return htmlResponse(content, { status: busy ? 503 : 500, headers: { 'retry-after': '5' } });
  }
}

/** A client endpoint that fails unexpectedly still tells the developer so in the application's request log. */
function diagnosticsOf(request: HttpRequest, reason: UnexpectedFailure): Diagnostics | undefined {
  const { claimedClientId, clientId, ref } = request;
  if (claimedClientId === undefined) return undefined;
  return { claimedClientId, clientId, failure: { reason, details: NO_DETAILS }, ...(ref && { ref }) };
}

function notTaken(request: HttpRequest, status: number, why: string, diagnostics: Diagnostics): HttpResponse {
  const content = messagePage({ title: 'This could not be taken', paragraphs: [why], requestId: request.id });
  return htmlResponse(content, { status, diagnostics });
}
