import { requireUser } from '../accounts/require-user.ts';
import { htmlResponse } from '../http/html-response.ts';
import { dashboardPage } from '../pages/dashboard.ts';
import { isPlayground } from '../protocol/application.ts';
import { liveSecrets } from './secret-view.ts';

/** GET /dashboard */
export const showApplications = requireUser(async (app, { http, user, frame }) => {
  const now = app.now();
  const all = await app.store.ownedApplications(user.id).list();
  const applications = all.filter(({ clientId }) => !isPlayground(clientId));
  const content = dashboardPage({
    frame,
    done: http.query.get('done') === 'deleted' ? 'The application is deleted.' : undefined,
    applications: applications.map((application) => ({
      clientId: application.clientId,
      name: application.name,
      disabled: application.disabledAt !== null,
      createdAt: application.createdAt,
      liveSecrets: liveSecrets(application, now).length,
    })),
  });
  return htmlResponse(content);
});
