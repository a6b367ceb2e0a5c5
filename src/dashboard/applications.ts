import { signedIn } from '../accounts/signed-in.ts';
import { queryOf } from '../form.ts';
import { page } from '../page-answer.ts';
import { dashboardPage } from '../pages/dashboard.ts';
import { isPlayground } from '../protocol/application.ts';
import { liveSecrets } from './secret-view.ts';

/** GET /dashboard */
export const showApplications = signedIn(async (app, { http, user, frame }) => {
  const now = app.now();
  const all = await app.store.applications.ownedBy(user.id).list();
  const applications = all.filter(({ clientId }) => !isPlayground(clientId));
  const content = dashboardPage({
    frame,
    done: queryOf(http).get('done') === 'deleted' ? 'The application is deleted.' : undefined,
    applications: applications.map((application) => ({
      clientId: application.clientId,
      name: application.name,
      disabled: application.disabledAt !== null,
      createdAt: application.createdAt,
      liveSecrets: liveSecrets(application, now).length,
    })),
  });
  return page(content);
});
