import { type Html, html } from './html.ts';
import { code } from './playground-exchange.ts';

/** What a quick start is filled with. The secret is never in it: it stays in the environment. */
export type QuickStartProps = {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
};

export type QuickStart = {
  readonly id: string;
  readonly label: string;
  readonly install?: string;
  readonly source: (props: QuickStartProps) => string;
};

/**
 * A redirect URI holds neither a double quote nor a backslash nor a space (protocol/redirect-uri.ts), so it
 * fits double quotes as it is. A single quote it may hold.
 */
export const QUICK_STARTS: readonly QuickStart[] = [
  { id: 'curl', label: 'curl', source: curl },
  { id: 'node', label: 'Node with openid-client', install: 'npm install openid-client', source: node },
  {
    id: 'express',
    label: 'Express with Passport',
    install: 'npm install express express-session passport passport-oauth2',
    source: express,
  },
  { id: 'python', label: 'Python with Authlib', install: 'pip install authlib requests', source: python },
  { id: 'go', label: 'Go with x/oauth2', install: 'go get golang.org/x/oauth2', source: go },
];

/** The first lines of an integration, with this application's own id filled in. */
export function quickStartsPanel(props: QuickStartProps): Html {
  const one = ({ id, label, install, source }: QuickStart) => html`<details>
<summary>${label}</summary>
<div class="stack">
${install && html`<p><code>${install}</code></p>`}
${code(`quick-start-${id}`, label, source(props))}
</div>
</details>
`;
  return html`<section class="panel" aria-labelledby="quick-starts">
<header><h2 id="quick-starts">Quick starts</h2></header>
<div class="body stack">
<p class="muted">Set CLIENT_SECRET in the environment; it is in none of these.</p>
${QUICK_STARTS.map(one)}</div>
</section>`;
}

function curl({ baseUrl, clientId, redirectUri, scope }: QuickStartProps): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
  });
  return `CODE_VERIFIER=$(openssl rand -base64 32 | tr '+/' '-_' | tr -d '=\\n')
CODE_CHALLENGE=$(printf %s "$CODE_VERIFIER" | openssl dgst -sha256 -binary | openssl base64 | tr '+/' '-_' | tr -d '=\\n')
STATE=$(openssl rand -hex 16)

# Open this in a browser. It comes back to your redirect_uri with a code.
echo "${baseUrl}/oauth/authorize?${query}&state=$STATE&code_challenge=$CODE_CHALLENGE&code_challenge_method=S256"
printf 'code: ' && read -r CODE

curl -s '${baseUrl}/oauth/token' \\
  -d grant_type=authorization_code \\
  -d client_id=${clientId} \\
  -d "client_secret=$CLIENT_SECRET" \\
  -d "code=$CODE" \\
  -d "code_verifier=$CODE_VERIFIER" \\
  --data-urlencode ${shellQuoted(`redirect_uri=${redirectUri}`)}
`;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const scriptQuoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;

/** Plain http is for trying out on one's own machine; the libraries want to hear that. */
const isPlain = (baseUrl: string): boolean => baseUrl.startsWith('http:');

function node({ baseUrl, clientId, redirectUri, scope }: QuickStartProps): string {
  const insecure = isPlain(baseUrl) ? ', execute: [oauth.allowInsecureRequests]' : '';
  return `import * as oauth from 'openid-client';

const config = await oauth.discovery(
  new URL('${baseUrl}'),
  '${clientId}',
  process.env.CLIENT_SECRET,
  undefined,
  { algorithm: 'oauth2'${insecure} },
);

/** Send the user to \`url\`; keep \`checks\` in their session. */
export async function begin() {
  const pkceCodeVerifier = oauth.randomPKCECodeVerifier();
  const expectedState = oauth.randomState();
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: ${scriptQuoted(redirectUri)},
    scope: '${scope}',
    state: expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  return { url, checks: { pkceCodeVerifier, expectedState } };
}

/** Where your redirect_uri leads: \`callbackUrl\` is the whole address that was asked for. */
export async function finish(callbackUrl, checks) {
  const tokens = await oauth.authorizationCodeGrant(config, new URL(callbackUrl), checks);
  const user = await oauth.fetchUserInfo(config, tokens.access_token, oauth.skipSubjectCheck);
  return { tokens, user };
}

/** Keep the new refresh_token: each works once. */
export const refresh = (refreshToken) => oauth.refreshTokenGrant(config, refreshToken);
`;
}

function express({ baseUrl, clientId, redirectUri, scope }: QuickStartProps): string {
  const { pathname } = new URL(redirectUri);
  const scopes = scope.split(' ').map((name) => `'${name}'`);
  return `import express from 'express';
import session from 'express-session';
import passport from 'passport';
import OAuth2Strategy from 'passport-oauth2';

const strategy = new OAuth2Strategy(
  {
    authorizationURL: '${baseUrl}/oauth/authorize',
    tokenURL: '${baseUrl}/oauth/token',
    clientID: '${clientId}',
    clientSecret: process.env.CLIENT_SECRET,
    callbackURL: ${scriptQuoted(redirectUri)},
    scope: [${scopes.join(', ')}],
    pkce: true,
    state: true,
  },
  (accessToken, refreshToken, profile, done) => done(null, { ...profile, accessToken, refreshToken }),
);
strategy._oauth2.useAuthorizationHeaderforGET(true);
strategy.userProfile = (accessToken, done) =>
  strategy._oauth2.get('${baseUrl}/oauth/userinfo', accessToken, (error, body) =>
    error ? done(error) : done(null, JSON.parse(body)),
  );
passport.use('postern', strategy);

export const app = express();
app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }));
app.get('/login', passport.authenticate('postern'));
app.get(${scriptQuoted(pathname)}, passport.authenticate('postern', { session: false }), (request, response) => {
  response.send(\`Hello, \${request.user.sub}\`);
});
`;
}

function python({ baseUrl, clientId, redirectUri, scope }: QuickStartProps): string {
  const plain = isPlain(baseUrl)
    ? `\nos.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # only because this server speaks plain http\n`
    : '';
  return `import os

from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
${plain}
BASE = "${baseUrl}"

client = OAuth2Session(
    "${clientId}",
    os.environ["CLIENT_SECRET"],
    scope="${scope}",
    redirect_uri="${redirectUri}",
    token_endpoint_auth_method="client_secret_post",
    code_challenge_method="S256",
)


def begin():
    """Send the user to the address; keep state and verifier in their session."""
    verifier = generate_token(48)
    url, state = client.create_authorization_url(f"{BASE}/oauth/authorize", code_verifier=verifier)
    return url, state, verifier


def finish(callback_url, state, verifier):
    """Where your redirect_uri leads: callback_url is the whole address that was asked for."""
    tokens = client.fetch_token(
        f"{BASE}/oauth/token",
        authorization_response=callback_url,
        state=state,
        code_verifier=verifier,
    )
    user = client.get(f"{BASE}/oauth/userinfo").json()
    return tokens, user


def refresh(refresh_token):
    """Keep the new refresh_token: each works once."""
    return client.refresh_token(f"{BASE}/oauth/token", refresh_token=refresh_token)
`;
}

function go({ baseUrl, clientId, redirectUri, scope }: QuickStartProps): string {
  const scopes = scope.split(' ').map((name) => `"${name}"`);
  return `package main

import (
	"context"
	"os"

	"golang.org/x/oauth2"
)

var config = &oauth2.Config{
	ClientID:     "${clientId}",
	ClientSecret: os.Getenv("CLIENT_SECRET"),
	RedirectURL:  "${redirectUri}",
	Scopes:       []string{${scopes.join(', ')}},
	Endpoint: oauth2.Endpoint{
		AuthURL:   "${baseUrl}/oauth/authorize",
		TokenURL:  "${baseUrl}/oauth/token",
		AuthStyle: oauth2.AuthStyleInParams,
	},
}

// begin returns where to send the user; keep state and verifier in their session.
func begin(state string) (url, verifier string) {
	verifier = oauth2.GenerateVerifier()
	return config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), verifier
}

// finish exchanges the code that came to your redirect URI, after you compared state.
// The client it makes refreshes by itself: use one for each user, and store its tokens.
func finish(ctx context.Context, code, verifier string) (*oauth2.Token, error) {
	return config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
}
`;
}
