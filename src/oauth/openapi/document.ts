import type { App } from '../../app.ts';
import { htmlResponse } from '../../http/html-response.ts';
import { type HttpResponse, jsonResponse, withHeaders } from '../../http/response.ts';
import { referencePage } from '../../pages/reference.ts';
import type { ApiDocument } from '../../protocol/openapi-document.ts';
import { PATHS } from './operations.ts';
import { SCHEMAS } from './schemas.ts';

const DESCRIPTION =
  'An OAuth 2.0 authorization service for third-party applications: Authorization Code flow (RFC 6749 4.1) with PKCE ' +
  '(RFC 7636), mandatory for every application. Refresh tokens rotate; one that is presented twice is taken for stolen ' +
  'and cuts the whole session. A wrong method is answered with 405 and an Allow header.';

/** The interface for applications, stated once: /openapi.json serves this document, and /docs renders it. */
const openApiDocument = (baseUrl: string): ApiDocument => ({
  openapi: '3.1.1',
  info: {
    title: 'Postern',
    version: '1.0.0',
    summary: 'Authorization, tokens, user information and revocation',
    description: DESCRIPTION,
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: baseUrl }],
  paths: PATHS,
  components: {
    schemas: SCHEMAS,
    securitySchemes: {
      client: {
        type: 'http',
        scheme: 'basic',
        description: 'client_id and client_secret, each form-encoded first (RFC 6749 2.3.1).',
      },
      user: { type: 'http', scheme: 'bearer', description: 'An access token (RFC 6750 2.1).' },
    },
  },
});

const PUBLIC = { 'cache-control': 'public, max-age=300' };

/** GET /openapi.json. CORS, so that browser-based API tools can read it. */
export function openapi(app: App): HttpResponse {
  const body = JSON.stringify(openApiDocument(app.config.baseUrl));
  return withHeaders(jsonResponse(body), { ...PUBLIC, 'access-control-allow-origin': '*' });
}

/** GET /docs: the same document as a page. */
export function docs(app: App): HttpResponse {
  return htmlResponse(referencePage(openApiDocument(app.config.baseUrl)), { headers: PUBLIC });
}
