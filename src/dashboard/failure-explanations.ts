import { duration, listed } from '../pages/parts.ts';
import type { FailureDetails, FailureReason, SuccessReason } from '../protocol/failure-reason.ts';
import { scopeNames } from '../protocol/scope.ts';
import type { LogEntry } from '../store/request-log.ts';
import {
  credentialMismatch,
  dayAndTime,
  PARALLEL_REFRESH,
  REAUTHORIZE,
  replayed,
  reused,
  revokedBy,
  sentSecret,
} from './explanation-phrases.ts';

/** An explanation is phrased from the failed entry and the earlier success that used the same credential, if any. */
type FailureContext<R extends FailureReason> = {
  readonly details: FailureDetails[R];
  readonly entry: LogEntry;
  readonly earlier: LogEntry | undefined;
};

type Phrase<R extends FailureReason> = string | ((context: FailureContext<R>) => string);
type Explanation<R extends FailureReason> = {
  readonly title: string;
  readonly why: Phrase<R>;
  readonly fix: Phrase<R>;
};

/** The dashboard's texts on each reason. A reason without an explanation does not compile. */
const EXPLANATIONS: { readonly [R in FailureReason]: Explanation<R> } = {
  // ---- the shape of a request
  content_type: {
    title: 'Unreadable content type',
    why: 'The body is neither application/x-www-form-urlencoded nor application/json.',
    fix: 'Send the parameters as a form: most HTTP libraries do when given URLSearchParams or a form object.',
  },
  encoding: {
    title: 'Broken encoding',
    why: 'A parameter holds a percent sign that begins no valid escape, or bytes that are no text that can be kept.',
    fix: 'Let your library encode the parameters; do not put them together by hand.',
  },
  json: {
    title: 'Not a JSON object',
    why: 'The body says that it is JSON but is not an object.',
    fix: 'Send an object of strings, or a form.',
  },
  not_a_string: {
    title: 'A value that is no string',
    why: 'The JSON body holds a value that is not a string.',
    fix: 'Send every value as a string.',
  },
  too_many: {
    title: 'Too many parameters',
    why: 'The request has more than 1,000 parameters.',
    fix: 'Send only the parameters that the endpoint documents.',
  },
  repeated: {
    title: 'A parameter came twice',
    why: ({ details }) =>
      details.repeated === undefined
        ? 'A parameter was sent more than once.'
        : `Sent twice: ${details.repeated}.`,
    fix: 'Send each parameter once.',
  },
  credentials_in_query: {
    title: 'Credentials in the address',
    why: 'The address carries a credential or client_id in its query, where logs and histories keep it.',
    fix: 'Send all parameters in the body. What was in the query has been seen by proxies: change that secret.',
  },
  two_authentication_methods: {
    title: 'Two ways of authentication',
    why: 'The client_secret came both in the Authorization header and in the body.',
    fix: 'Use one of them. Many libraries have a setting for it: client_secret_basic or client_secret_post.',
  },
  two_client_ids: {
    title: 'Two applications named',
    why: 'The Authorization header and the body name different client_ids.',
    fix: 'Send one client_id.',
  },
  parameter_missing: {
    title: 'A parameter is missing',
    why: ({ details }) => `Missing or empty: ${details.missing.replaceAll(' ', ', ')}.`,
    fix: 'Send it. An empty value counts as absent.',
  },
  unsupported_grant_type: {
    title: 'Unknown grant_type',
    why: ({ details }) => `grant_type is “${details.grantType}”.`,
    fix: 'Use authorization_code or refresh_token. There are no others here.',
  },
  server_error: {
    title: 'The service failed',
    why: 'Something went wrong here, not in your application. The people who run this service find it in their log by the request ID.',
    fix: 'Try again later, waiting longer each time.',
  },
  outcome_unknown: {
    title: 'The outcome is unknown',
    why: 'The database of this service did not respond in time: the request may have taken effect or not. Nothing is wrong with your application.',
    fix: 'Try once more with the same code or token. If that is refused, the request had taken effect: send the user through authorization again.',
  },
  temporarily_unavailable: {
    title: 'Not available',
    why: 'This service could not reach its database, or was too busy. Nothing was changed, and nothing is wrong with your application.',
    fix: 'Wait as long as Retry-After says, then try again with the same code or token: it still works.',
  },
  rate_limited_address: {
    title: 'Rate limit of this address',
    why: 'More requests came from this network in this minute than the limit allows. Anybody who sends your client_id is counted, each network for itself.',
    fix: 'Wait as long as Retry-After says. If these are not your requests, nothing is to be done: they do not use up your limit.',
  },
  rate_limited_client: {
    title: 'Rate limit of the application',
    why: 'The application sent more authenticated requests in this minute than the limit allows.',
    fix: 'Wait as long as Retry-After says and back off exponentially. Refresh only when the access token is about to expire, not before every call.',
  },
  // ---- the application's credentials
  secret_wrong: {
    title: 'Wrong client_secret',
    why: ({ details }) =>
      `${sentSecret(details)} is no secret of this application. Current: ${details.activeTails}.`,
    fix: 'Compare the end with the secrets on the application’s page. It may be the secret of another environment.',
  },
  secret_padded: {
    title: 'A space around the client_secret',
    why: 'The client_secret is right, but a space or line break stands before or after it.',
    fix: 'Trim it where it is read: a line break at the end of a file or of an environment variable is the usual cause.',
  },
  secret_removed: {
    title: 'The client_secret was removed',
    why: ({ details }) => `${sentSecret(details)} was removed on ${dayAndTime(details.retiredAt)} UTC.`,
    fix: 'Some part of your application still has the old secret. Give it the current one; the address and user agent below tell which.',
  },
  secret_expired: {
    title: 'The client_secret has expired',
    why: ({ details }) =>
      `${sentSecret(details)} ended on ${dayAndTime(details.retiredAt)} UTC, after a newer one was made.`,
    fix: 'Give this part of your application the current secret.',
  },
  application_disabled: {
    title: 'The application is disabled',
    why: ({ details }) =>
      details.disabledBy === 'owner'
        ? 'The credentials are right, but you have disabled the application.'
        : 'The credentials are right, but the people who run this service have disabled the application.',
    fix: 'Its page says who can enable it again.',
  },
  // ---- codes
  not_a_code: {
    title: 'Not a code',
    why: ({ details }) => credentialMismatch(details, 'code'),
    fix: 'Take the parameter code of the redirect, decoded once and whole.',
  },
  wrong_redirect_uri: {
    title: 'Another redirect_uri',
    why: 'The redirect_uri is not the one that the code was issued for. They must be equal character for character.',
    fix: 'Send the very redirect_uri that you sent to /oauth/authorize. Keep it in one place of your code.',
  },
  verifier_missing: {
    title: 'No code_verifier',
    why: 'The request has no code_verifier.',
    fix: 'Keep the code_verifier you made before authorization (in the user’s session) and send it with the code.',
  },
  verifier_malformed: {
    title: 'Malformed code_verifier',
    why: ({ details }) =>
      `A code_verifier has 43 to 128 characters of A–Z a–z 0–9 - . _ ~; this one has ${details.length}.`,
    fix: 'Make it from 32 random bytes in base64url, without padding.',
  },
  wrong_verifier: {
    title: 'Wrong code_verifier',
    why: ({ details }) =>
      details.challengeSent
        ? 'What was sent as code_verifier is the code_challenge itself.'
        : `The verifier hashes to ${details.hashed}…, the code was issued for ${details.expected}….`,
    fix: ({ details }) =>
      details.challengeSent
        ? 'Send the verifier that the challenge was made from: BASE64URL(SHA256(verifier)) is the challenge.'
        : 'Send the verifier of this very sign-in. Two sign-ins in two tabs overwrite each other when it is kept under one name: keep it by state.',
  },
  code_expired: {
    title: 'The code has expired',
    why: ({ details }) => `The code expired ${duration(details.lateMs)} before this request.`,
    fix: 'Exchange a code as soon as it arrives, in the request that brought it. Then begin again at /oauth/authorize.',
  },
  code_replayed: {
    title: 'The code was used before',
    why: replayed,
    fix: 'A code works once. Do not retry the exchange, and see that the callback is not loaded twice (a reload, a prefetch).',
  },
  code_replayed_grant_revoked: {
    title: 'The code was used twice: session cut',
    why: (context) => `${replayed(context)} Everything else was right, so the tokens it bought were revoked.`,
    fix: 'See that the callback is not handled twice: a reload, a prefetch, two workers. If these requests are not yours, the code leaked.',
  },
  // ---- refresh tokens
  not_a_refresh_token: {
    title: 'Not a refresh token',
    why: ({ details }) => credentialMismatch(details, 'refresh_token'),
    fix: 'Send the refresh_token of the latest token response, whole. A database column that is too short cuts it.',
  },
  refresh_token_expired: {
    title: 'The refresh token has expired',
    why: ({ details }) => `The refresh token expired ${duration(details.lateMs)} before this request.`,
    fix: REAUTHORIZE,
  },
  refresh_token_reused: {
    title: 'An old refresh token of a session that is over',
    why: reused,
    fix: `The session was over already. ${REAUTHORIZE}`,
  },
  refresh_token_reused_grant_revoked: {
    title: 'A refresh token was used twice: session cut',
    why: (context) =>
      `${reused(context)} That is how a leak looks, so every token of the session was revoked.`,
    fix: `${REAUTHORIZE} ${PARALLEL_REFRESH}`,
  },
  unknown_scope: {
    title: 'Unknown scope',
    why: ({ details }) => `Asked for: “${details.requested}”.`,
    fix: `The scopes here are ${listed(scopeNames())}.`,
  },
  scope_exceeded: {
    title: 'More scope than granted',
    why: ({ details }) => `Asked for “${details.requested}”, granted was “${details.granted}”.`,
    fix: 'Leave scope out when refreshing, or ask the user anew.',
  },
  // ---- grants in general
  wrong_client: {
    title: 'Of another application',
    why: 'The code or refresh token was issued to another application.',
    fix: 'Exchange it with the client_id it was asked for with. Mixed-up environments are the usual cause.',
  },
  grant_revoked: {
    title: 'The session is over',
    why: ({ entry, details }) =>
      `It was ended ${duration(entry.at - details.revokedAt)} before this request, ${revokedBy(details.revokedReason)}.`,
    fix: REAUTHORIZE,
  },
  user_disabled: {
    title: 'The user is disabled',
    why: 'The people who run this service have disabled the user’s account.',
    fix: 'Nothing you can do; sign the user out.',
  },
  grant_unknown: {
    title: 'The session is gone',
    why: 'The code or token was issued here, but its session is no longer known: it expired long ago, or the account was deleted.',
    fix: REAUTHORIZE,
  },
  grant_behind_token: {
    title: 'The service was restored from a backup',
    why: 'The token is newer than the service’s own records.',
    fix: REAUTHORIZE,
  },
  // ---- authorization requests
  client_disabled: {
    title: 'The application is disabled',
    why: 'Nobody can connect to a disabled application.',
    fix: 'Its page says who can enable it again.',
  },
  redirect_uri_missing: {
    title: 'No redirect_uri',
    why: 'redirect_uri is missing or was sent more than once.',
    fix: 'Send exactly one, also when only one is registered.',
  },
  redirect_uri_unregistered: {
    title: 'The redirect_uri is not registered',
    why: 'The redirect_uri is equal to none of the registered ones. Below: what was sent, and the registered one that is most like it.',
    fix: 'Correct it, or register this one on the application’s page.',
  },
  unsupported_response_type: {
    title: 'Unknown response_type',
    why: ({ details }) => `response_type is “${details.responseType}”.`,
    fix: 'Use response_type=code: the code flow with PKCE is the only one here.',
  },
  challenge_method: {
    title: 'Another challenge method',
    why: ({ details }) => `code_challenge_method is “${details.method}”.`,
    fix: 'Use S256.',
  },
  challenge_malformed: {
    title: 'Malformed code_challenge',
    why: ({ details }) => `A code_challenge has 43 characters of base64url; this one has ${details.length}.`,
    fix: 'It is BASE64URL(SHA256(code_verifier)), without = at the end; not hexadecimal.',
  },
  scope_unregistered: {
    title: 'A scope that is not registered',
    why: ({ details }) => `Asked for “${details.requested}”, registered is “${details.registered}”.`,
    fix: 'Ask for less, or add the scope on the application’s page.',
  },
  access_denied: {
    title: 'The user refused',
    why: 'The user chose Deny on the consent screen.',
    fix: 'Accept it, and offer to try again.',
  },
};

const SUCCESS_TITLES: Readonly<Record<SuccessReason, string>> = {
  consent_shown: 'The consent screen was shown',
  code_issued: 'The user allowed it, a code was issued',
  code_exchanged: 'The code was exchanged for tokens',
  refreshed: 'The tokens were refreshed',
  revoked: 'The session was revoked',
  access_token_revoked: 'An access token was revoked',
  nothing_revoked: 'Nothing to revoke',
};

/** Remarks on successes that say less than they seem to. */
const SUCCESS_REMARKS: Readonly<Partial<Record<SuccessReason, string>>> = {
  access_token_revoked: 'If the token was not issued to this application, nothing was changed.',
  nothing_revoked:
    'The token was unknown, expired, already revoked or another application’s. The answer is the same in every case, so that it cannot be used to test tokens.',
};

export const remarkOn = (entry: LogEntry): string | undefined =>
  entry.error === '' ? SUCCESS_REMARKS[entry.reason] : undefined;

export const FAILURE_REASONS = Object.keys(EXPLANATIONS) as readonly FailureReason[];

/** A few words for lists. Entries may have been written by another version: an unknown reason stands for itself. */
export function titleOf(reason: string): string {
  if (reason in EXPLANATIONS) return EXPLANATIONS[reason as FailureReason].title;
  return (SUCCESS_TITLES as Readonly<Record<string, string>>)[reason] ?? reason;
}

export function explain(
  entry: LogEntry,
  earlier: LogEntry | undefined,
): { readonly why: string; readonly fix: string } | undefined {
  if (entry.error === '' || !(entry.reason in EXPLANATIONS)) return undefined;
  // The reason decides the type of the details, which an index by a union cannot express.
  const { why, fix } = EXPLANATIONS[entry.reason] as Explanation<FailureReason>;
  const context = { details: entry.details, entry, earlier };
  const phrase = (text: Phrase<FailureReason>) => (typeof text === 'string' ? text : text(context));
  return { why: phrase(why), fix: phrase(fix) };
}
