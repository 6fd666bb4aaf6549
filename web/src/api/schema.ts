/** Generated from /openapi.json by `npm run schema`; do not edit. */

export interface paths {
    "/api/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The changes on the whole platform, newest first. */
        get: operations["getAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accept an invitation and be signed in. */
        post: operations["postInvitationsAccept"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/invitations/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The organization and role that an invitation grants. */
        post: operations["postInvitationsPreview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All nodes. */
        get: operations["getNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/nodes/{nodeId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a node that is gone for good. */
        delete: operations["deleteNodesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/aliases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All aliases: those of the file, then those of the store. */
        get: operations["getOperatorAliases"];
        put?: never;
        /** Create an alias in the store. */
        post: operations["postOperatorAliases"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/aliases/{alias}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete an alias of the store. */
        delete: operations["deleteOperatorAliasesById"];
        options?: never;
        head?: never;
        /** Let an alias stand for another model. */
        patch: operations["patchOperatorAliasesById"];
        trace?: never;
    };
    "/api/operator/catalogue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The state of the catalogue. */
        get: operations["getOperatorCatalogue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Failed calls of all workspaces by cause and model, most frequent first. */
        get: operations["getOperatorErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The doctor's findings on this node, with remedies; at most half a minute old. */
        get: operations["getOperatorFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/flavors/fit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether a replica with these GPUs has a place on some node. Allotments of organizations are not considered. */
        get: operations["getOperatorFlavorsFit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/gpu-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The GPU types of all living nodes, then those of the cluster in the configuration. */
        get: operations["getOperatorGpuTypes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/gpus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The GPUs and slots of all living nodes, and those of the cluster. */
        get: operations["getOperatorGpus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The logs on the machines of all living nodes, and of the cluster's Pods. */
        get: operations["getOperatorLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/logs/{replicaId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The end of a log. One of another node is requested through the store, and takes up to some seconds. */
        get: operations["getOperatorLogsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All models: those of the file, then those of the store. */
        get: operations["getOperatorModels"];
        put?: never;
        /** Create a model in the store. It is served at once. */
        post: operations["postOperatorModels"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/models/{modelId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One model, and what refers to it. */
        get: operations["getOperatorModelsById"];
        put?: never;
        post?: never;
        /** Delete a model of the store. Calls in flight end normally; dedicated endpoints keep running. */
        delete: operations["deleteOperatorModelsById"];
        options?: never;
        head?: never;
        /** Change a model of the store. */
        patch: operations["patchOperatorModelsById"];
        trace?: never;
    };
    "/api/operator/models/{modelId}/prefill-queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Uncached prompt tokens of all workspaces in flight at each replica of a model. Empty for a model with one replica. */
        get: operations["getOperatorModelsPrefillQueue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/models/{modelId}/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The price history of a model, oldest first. */
        get: operations["getOperatorModelsPrices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/models/{modelId}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a real call to a model of the catalogue. It is neither metered nor billed. */
        post: operations["postOperatorModelsTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All nodes, with what they reported last. */
        get: operations["getOperatorNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/organizations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All organizations. */
        get: operations["getOperatorOrganizations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/organizations/{organizationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One organization. */
        get: operations["getOperatorOrganizationsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Rename an organization. */
        patch: operations["patchOperatorOrganizationsById"];
        trace?: never;
    };
    "/api/operator/organizations/{organizationId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The members of an organization. */
        get: operations["getOperatorOrganizationsMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/organizations/{organizationId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Add a user to an organization, or give a member another role. */
        put: operations["putOperatorOrganizationsMembersById"];
        post?: never;
        /** End a membership in an organization and in its workspaces. */
        delete: operations["deleteOperatorOrganizationsMembersById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/organizations/{organizationId}/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workspaces of an organization, with their limits. */
        get: operations["getOperatorOrganizationsWorkspaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/upstreams/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask an OpenAI-compatible server for its models and its engine, and call it once. */
        post: operations["postOperatorUpstreamsProbe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The sources of weights: the hub, and the files in the models folder of this node's machine. */
        get: operations["getOperatorWeights"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights/downloads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The downloads of all living nodes, newest first. Those of other nodes are as of their last reports. */
        get: operations["getOperatorWeightsDownloads"];
        put?: never;
        /** Download weights in the background. Weights that are there, or on their way, are not downloaded again. */
        post: operations["postOperatorWeightsDownloads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights/downloads/{downloadId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One download. */
        get: operations["getOperatorWeightsDownloadsById"];
        put?: never;
        post?: never;
        /** Delete a download with its files. */
        delete: operations["deleteOperatorWeightsDownloadsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights/downloads/{downloadId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a download. What has arrived is kept. */
        post: operations["postOperatorWeightsDownloadsCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights/downloads/{downloadId}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on with a download that failed, was cancelled or is missing. */
        post: operations["postOperatorWeightsDownloadsResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/weights/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What a reference leads to: models with size, license and whether they fit on this machine. */
        post: operations["postOperatorWeightsLookup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/operator/workspaces/{workspaceId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the name, limits or settings of any workspace. */
        patch: operations["patchOperatorWorkspacesById"];
        trace?: never;
    };
    "/api/organizations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The user's organizations; all of them for the operator. */
        get: operations["getOrganizations"];
        put?: never;
        /** Create an organization. */
        post: operations["postOrganizations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The current organization of the session. */
        get: operations["getOrganizationsById"];
        put?: never;
        post?: never;
        /** Delete an organization that has no workspaces. */
        delete: operations["deleteOrganizationsById"];
        options?: never;
        head?: never;
        /** Rename an organization. */
        patch: operations["patchOrganizationsById"];
        trace?: never;
    };
    "/api/organizations/{organizationId}/allotments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Allotted and committed GPUs of an organization, by GPU type. */
        get: operations["getOrganizationsAllotments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/allotments/{gpuType}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the allotment of an organization. A lower cap stops nothing that runs. */
        put: operations["putOrganizationsAllotmentsById"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The changes in an organization, newest first. */
        get: operations["getOrganizationsAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/gpu-costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** GPU-hours of dedicated endpoints, their cost, and how busy the GPUs were. Members see the workspaces they belong to. */
        get: operations["getOrganizationsGpuCosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The open invitations. */
        get: operations["getOrganizationsInvitations"];
        put?: never;
        /** Invite a user; the link is in this response only. */
        post: operations["postOrganizationsInvitations"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/invitations/{invitationId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Withdraw an invitation. */
        delete: operations["deleteOrganizationsInvitationsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The keys of all workspaces of an organization, oldest first. */
        get: operations["getOrganizationsKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/keys/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke many keys of the organization together, disabled ones too: all or none. Idempotent. */
        post: operations["postOrganizationsKeysRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The members of an organization. */
        get: operations["getOrganizationsMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/organizations/{organizationId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a membership in the organization and in its workspaces. */
        delete: operations["deleteOrganizationsMembersById"];
        options?: never;
        head?: never;
        /** Give a member another role. */
        patch: operations["patchOrganizationsMembersById"];
        trace?: never;
    };
    "/api/organizations/{organizationId}/reconciliation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tokens billed against tokens counted by the engines of an organization's endpoints. */
        get: operations["getOrganizationsReconciliation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/reconciliation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same for every engine there is, shared ones included. */
        get: operations["getReconciliation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The signed-in user, if any. */
        get: operations["getSession"];
        put?: never;
        /** Sign in with e-mail address and password. */
        post: operations["postSession"];
        /** Sign out. */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the current organization and workspace, or none. */
        put: operations["putSessionContext"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/oidc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Redirect to the provider to sign in. */
        get: operations["getSessionOidc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The provider sends the browser back here. */
        get: operations["getSessionOidcCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/session/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change the user's password; all other sessions end. */
        put: operations["putSessionPassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The user's sessions, newest first. */
        get: operations["getSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End one of the user's sessions. */
        delete: operations["deleteSessionsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sign-in-methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The ways to sign in. */
        get: operations["getSignInMethods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All users. */
        get: operations["getUsers"];
        put?: never;
        /** Create a user. */
        post: operations["postUsers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/users/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One user. */
        get: operations["getUsersById"];
        put?: never;
        post?: never;
        /** Delete a user; records that they created stay. */
        delete: operations["deleteUsersById"];
        options?: never;
        head?: never;
        /** Change whether a user runs the platform. */
        patch: operations["patchUsersById"];
        trace?: never;
    };
    "/api/users/{userId}/reset-password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Set a new password and end the sessions of the user. */
        post: operations["postUsersResetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workspaces of the current organization that the user belongs to. */
        get: operations["getWorkspaces"];
        put?: never;
        /** Create a workspace in the current organization; its creator is a member. */
        post: operations["postWorkspaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One workspace with the limits in force. */
        get: operations["getWorkspacesById"];
        put?: never;
        post?: never;
        /** Delete a workspace that has no active keys. */
        delete: operations["deleteWorkspacesById"];
        options?: never;
        head?: never;
        /**
         * Change a workspace's name, limits or settings. Administrators may lower limits; only the operator raises them above
         *     its value.
         */
        patch: operations["patchWorkspacesById"];
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/aliases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The aliases of a workspace, by name. */
        get: operations["getWorkspacesAliases"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/aliases/{alias}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Create or change an alias; the slashes of its name encoded as `%2F`. */
        put: operations["putWorkspacesAliasesById"];
        post?: never;
        /** Delete an alias. */
        delete: operations["deleteWorkspacesAliasesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The costs of a workspace in a month: so far, by day, and a forecast. */
        get: operations["getWorkspacesCosts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/invoice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The data of an invoice for a workspace and a month. */
        get: operations["getWorkspacesInvoice"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The keys of a workspace in any state, oldest first. */
        get: operations["getWorkspacesKeys"];
        put?: never;
        /** Create a key; its text is in this response only. */
        post: operations["postWorkspacesKeys"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/keys/{keyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a key. Idempotent. Members may revoke their own. */
        delete: operations["deleteWorkspacesKeysById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/keys/{keyId}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable a key until it is enabled again. */
        post: operations["postWorkspacesKeysDisable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/keys/{keyId}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable a disabled key. */
        post: operations["postWorkspacesKeysEnable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/keys/{keyId}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the segment and secret of a key. Members may rotate their own. */
        post: operations["postWorkspacesKeysRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The users added to a workspace; administrators of the organization belong to all. */
        get: operations["getWorkspacesMembers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/members/{userId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Add a member of the organization to a workspace. */
        put: operations["putWorkspacesMembersById"];
        post?: never;
        /** Remove a user from a workspace. */
        delete: operations["deleteWorkspacesMembersById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One metric of a workspace over a span of time. */
        get: operations["getWorkspacesMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/quota": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The remaining monthly quota and limits per minute. */
        get: operations["getWorkspacesQuota"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The calls of a workspace, newest first. Prompts and responses are not stored. */
        get: operations["getWorkspacesRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/workspaces/{workspaceId}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The usage and cost of a workspace in a span of time. */
        get: operations["getWorkspacesUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process is alive. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus. */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether to send calls here, and the state of each part. */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Chat with a model. */
        post: operations["chatCompletions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Turn texts into vectors. */
        post: operations["embeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The endpoints of the workspace, newest first. */
        get: operations["listEndpoints"];
        put?: never;
        /** Create an endpoint. */
        post: operations["createEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One endpoint, by name or id. */
        get: operations["getEndpoint"];
        put?: never;
        post?: never;
        /** Delete an endpoint: its commitment is released at once, its name when its last replica has ended. */
        delete: operations["deleteEndpoint"];
        options?: never;
        head?: never;
        /** Change how an endpoint scales, and its labels. */
        patch: operations["changeEndpoint"];
        trace?: never;
    };
    "/v1/endpoints/{endpoint}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The history of an endpoint, newest first; kept for 90 days. */
        get: operations["listEndpointEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{endpoint}/replicas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest replicas of an endpoint, including ended ones. */
        get: operations["listEndpointReplicas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{endpoint}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a suspended or failed endpoint, optionally with another scaling. */
        post: operations["resumeEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{endpoint}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop an endpoint and release its commitment. */
        post: operations["suspendEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/{endpoint}/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** GPU-hours, cost and utilization, with the hours or days in which GPUs were held. */
        get: operations["getEndpointUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/allotments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Allotted and committed GPUs of the organization, by GPU type. */
        get: operations["listAllotments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/endpoints/flavors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The flavors that a model is offered in. Those that do not fit the allotment are marked, not hidden. */
        get: operations["listFlavors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a message, in Anthropic's format. */
        post: operations["createMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/count_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count the tokens of a message, without creating it. */
        post: operations["countMessageTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The catalogue: models, then exact aliases. */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One model; the slash of its id encoded as `%2F`. */
        get: operations["getModelByEncodedId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{provider}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One model; the slash of its id raw. */
        get: operations["getModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a response. */
        post: operations["createResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a stored response. */
        get: operations["getResponse"];
        put?: never;
        post?: never;
        /** Delete a stored response. */
        delete: operations["deleteResponse"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the items that a stored response was generated from: its conversation, and its own input. */
        get: operations["listResponseInputItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/input_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count the tokens of an input, without creating a response. */
        post: operations["countInputTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Acceptance: {
            /** @description Whether to create an account although the address has one that is not proven: it may be another person's. */
            newAccount?: boolean;
            /**
             * Format: password
             * @description The password of the new account, or of the account that the address has. Not needed if that account is signed in.
             */
            password?: string | null;
            /** @description The part of the link after `#`. */
            token: string;
        };
        Alias: {
            /** @description A Model ID, or `dedicated/<name>`. */
            model: string;
            /** @description The name that clients send, or a prefix of such names followed by `*`. */
            name: string;
        };
        AliasEdit: {
            /** @description A Model ID of the catalogue. */
            model: string;
            /**
             * Format: int64
             * @description The version that was read.
             */
            version: number;
        };
        AliasTarget: {
            /** @description A Model ID of the catalogue, or `dedicated/<name>`. */
            model: string;
        };
        /** @description Allotted and committed GPUs of a type in an organization. */
        Allotment: {
            /** Format: int64 */
            allotment: number;
            /** Format: int64 */
            committed: number;
            /** @example nvidia/h100-sxm-80gb */
            gpuType: string;
            /**
             * Format: int64
             * @description Negative after a cap was lowered.
             */
            headroom: number;
            /**
             * Format: double
             * @description The committed share of the cap, a fraction.
             */
            utilization: number;
        };
        AllotmentList: {
            data: components["schemas"]["Allotment"][];
            /** @description Where the next page begins; null at the end. */
            nextCursor?: string | null;
            /** @description `list` */
            object: string;
        };
        /** @description A change: actor, action, time, address, and the record before and after. */
        AuditEntry: {
            /** @description A noun and a verb, such as `key.revoke`. */
            action: string;
            /** @description The id of a user or of a key, `forebay admin` or `first start`. */
            actor: string;
            /** @description The actor's address, as long as it is a user. */
            actorEmail?: string | null;
            /** @description The actor's name, as long as it is a key. */
            actorKeyName?: string | null;
            /** @description The address that the request came from. */
            address?: string | null;
            after?: Record<string, never> | null;
            /** Format: date-time */
            at: string;
            before?: Record<string, never> | null;
            detail: string;
            id: string;
            organizationId?: string | null;
            /** @description The id of what was changed. */
            subject: string;
        };
        /** @description A cap; null resets it to the configured default. */
        Cap: {
            /** Format: int64 */
            allotment?: number | null;
        };
        ChatRequest: {
            messages: Record<string, never>[];
            /** @description A Model ID, as `GET /v1/models` lists them. */
            model: string;
            /** @description Events instead of one response. */
            stream?: boolean | null;
        };
        Context: {
            organizationId?: string | null;
            workspaceId?: string | null;
        };
        CostAmount: {
            /** @description Decimal text in USD. */
            costUsd: string;
            /** @description A forecast for the whole month; null in its first hour. For a past month, its cost. */
            forecastUsd?: string | null;
        };
        /** @description The costs of a workspace in a month, up to now. */
        Costs: {
            /** @description Every day of the month that has begun, in UTC. */
            days: components["schemas"]["DayCosts"][];
            /** @description Dedicated endpoints, by their GPU-hours. */
            dedicated: components["schemas"]["CostAmount"];
            /** Format: date-time */
            from: string;
            /** @description GPU-hours held by dedicated endpoints, decimal text. */
            gpuHours: string;
            /** @example 2026-11 */
            month: string;
            /** @description Calls to models of the catalogue, by their tokens. */
            serverless: components["schemas"]["CostAmount"];
            /**
             * Format: date-time
             * @description Now, or the end of a past month.
             */
            to: string;
            total: components["schemas"]["CostAmount"];
        };
        CountTokensRequest: {
            messages: Record<string, never>[];
            /** @description A Model ID or an alias, as `GET /v1/models` lists them. */
            model: string;
        };
        Credentials: {
            /** @example admin@localhost */
            email: string;
            /** Format: password */
            password: string;
        };
        DayCosts: {
            /** Format: date */
            day: string;
            dedicatedUsd: string;
            gpuHours: string;
            serverlessUsd: string;
            totalUsd: string;
        };
        /** @description The GPU-hours of one endpoint at one price. */
        DedicatedInvoiceLine: {
            costUsd: string;
            endpoint: string;
            endpointId: string;
            flavor: string;
            /** @description Billed GPU-hours. */
            gpuHours: string;
            gpuType: string;
            model: string;
            pricePerGpuHour: string;
            /** @description GPU-hours of failed starts, which are not billed. */
            unbilledGpuHours: string;
        };
        DeletedResponse: {
            deleted: boolean;
            id: string;
            /** @description `response` */
            object: string;
        };
        /** @description A download of a node's machine. */
        DownloadReport: {
            /** Format: int64 */
            bytes: number;
            /**
             * Format: int64
             * @description While bytes arrive.
             */
            bytesPerSecond: number;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: int64
             * @description Bytes that have arrived.
             */
            doneBytes: number;
            /** @description Why it failed. */
            error?: string | null;
            id: string;
            license?: string | null;
            repository: string;
            /** @description `queued`, `downloading`, `verifying`, `done`, `failed`, `cancelled` or `missing` (its files were deleted). */
            state: string;
            /** @description For `engine.weights` of a model. */
            weights: string;
        };
        EmbeddingsRequest: {
            /** @description A text, several texts, token ids, or several lists of them. */
            input: unknown;
            /** @description A Model ID, as `GET /v1/models` lists them. */
            model: string;
        };
        /** @description A dedicated endpoint. */
        Endpoint: {
            autoscalingMetric: string;
            /** Format: double */
            autoscalingTarget: number;
            /** Format: int32 */
            committedGpus: number;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            flavor: string;
            /** Format: int64 */
            generation: number;
            hardware: components["schemas"]["EndpointHardware"];
            id: string;
            labels: {
                [key: string]: string;
            };
            /** Format: date-time */
            lastRequestAt?: string | null;
            /** Format: int32 */
            maxReplicas?: number | null;
            /** Format: int32 */
            minReplicas?: number | null;
            model: string;
            /**
             * @description The `model` of calls to it.
             * @example dedicated/chat-prod
             */
            modelId: string;
            name: string;
            /** @description `endpoint` */
            object: string;
            organizationId: string;
            /**
             * Format: int32
             * @description Set if the number is fixed; then the next two are null.
             */
            replicas?: number | null;
            /** Format: int32 */
            scaleDownWindowSeconds: number;
            /** Format: int32 */
            scaleToZeroWindowSeconds: number;
            /** Format: int32 */
            scaleUpWindowSeconds: number;
            /** @description `provisioning`, `serving`, `scaled-to-zero`, `suspended`, `failed` or `deleting`. */
            state: string;
            stateMessage: string;
            stateReason: string;
            /** Format: date-time */
            stateSince: string;
            status: components["schemas"]["EndpointStatus"];
            /** Format: date-time */
            updatedAt: string;
            workspaceId: string;
        };
        EndpointActor: {
            id: string;
            /** @description `user`, `api-key` or `system`. */
            kind: string;
        };
        /** @description The body of a PATCH. */
        EndpointChange: {
            /** @description `concurrency` or `kv-cache-utilization`. */
            autoscalingMetric?: string | null;
            /**
             * Format: double
             * @description Calls (1 to 1024), or a fraction of the cache (0.10 to 0.95).
             */
            autoscalingTarget?: number | null;
            /** Format: int32 */
            maxReplicas?: number | null;
            /** Format: int32 */
            minReplicas?: number | null;
            /** Format: int32 */
            replicas?: number | null;
            /** Format: int32 */
            scaleDownWindowSeconds?: number | null;
            /** Format: int32 */
            scaleToZeroWindowSeconds?: number | null;
            /** Format: int32 */
            scaleUpWindowSeconds?: number | null;
        } & {
            /** @description A label with `null` is removed. */
            labels?: {
                [key: string]: string | null;
            } | null;
        };
        EndpointEvent: {
            actor: components["schemas"]["EndpointActor"];
            /** Format: date-time */
            at: string;
            data: Record<string, never>;
            from?: string | null;
            id: string;
            message: string;
            reason: string;
            replicaId?: string | null;
            to?: string | null;
            /** @example endpoint.created */
            type: string;
        };
        EndpointExtensions: {
            /** Format: int64 */
            allotment?: number;
            /** @description Stable, for programs. */
            code: string;
            /** Format: int64 */
            committed?: number;
            /** @description The rest is in a `GPU_ALLOTMENT_EXCEEDED`. */
            gpuType?: string;
            /** Format: int64 */
            need?: number;
            /** Format: int64 */
            projected?: number;
            remediation?: string;
        };
        /** @description An error in the request itself. */
        EndpointFault: {
            code: string;
            /** @description Begins with the path of the field. */
            detail: string;
        };
        EndpointHardware: {
            /** Format: int32 */
            gpuCount: number;
            gpuType: string;
            precision: string;
        };
        EndpointList: {
            data: components["schemas"]["Endpoint"][];
            /** @description Where the next page begins; null at the end. */
            nextCursor?: string | null;
            /** @description `list` */
            object: string;
        };
        /** @description A problem: RFC 7807's members, and more for programs. */
        EndpointProblem: {
            /** @description For people; it may change. */
            detail: string;
            extensions: components["schemas"]["EndpointExtensions"];
            instance: string;
            /** Format: int32 */
            status: number;
            title: string;
            /** @description A page about problems of this kind. */
            type: string;
        };
        EndpointReplica: {
            gpuIds: string[];
            id: string;
            lastError?: string | null;
            logTail: string;
            node?: string | null;
            /** Format: date-time */
            startedAt?: string | null;
            /** @description `pending`, `bound`, `starting`, `ready`, `draining`, `released` or `failed`. */
            state: string;
        };
        /** @description Either `replicas`, or `minReplicas` and `maxReplicas`. */
        EndpointScaling: {
            /** @description `concurrency` or `kv-cache-utilization`. */
            autoscalingMetric?: string | null;
            /**
             * Format: double
             * @description Calls (1 to 1024), or a fraction of the cache (0.10 to 0.95).
             */
            autoscalingTarget?: number | null;
            /** Format: int32 */
            maxReplicas?: number | null;
            /** Format: int32 */
            minReplicas?: number | null;
            /** Format: int32 */
            replicas?: number | null;
            /** Format: int32 */
            scaleDownWindowSeconds?: number | null;
            /** Format: int32 */
            scaleToZeroWindowSeconds?: number | null;
            /** Format: int32 */
            scaleUpWindowSeconds?: number | null;
        };
        /** @description The current replicas, by state. */
        EndpointStatus: {
            /** Format: int32 */
            desired: number;
            /** Format: int32 */
            draining: number;
            /** Format: int32 */
            pending: number;
            /** Format: int32 */
            ready: number;
            /** Format: int32 */
            starting: number;
        };
        EndpointUsage: {
            /** @description Decimal text in USD. */
            costUsd: string;
            data: components["schemas"]["EndpointUsageLine"][];
            /** Format: date-time */
            from: string;
            /** @description Decimal text. */
            gpuHours: string;
            /** @description `hour` or `day`. */
            granularity: string;
            /** Format: date-time */
            to: string;
            /**
             * Format: double
             * @description How busy the GPUs were: a fraction.
             */
            utilization: number;
        };
        EndpointUsageLine: {
            costUsd: string;
            gpuHours: string;
            /** Format: date-time */
            start: string;
            /** Format: double */
            utilization: number;
        };
        /** @description Engines that Forebay runs itself. */
        EngineInput: {
            /** @description A flavor that runs on a cluster. */
            flavor?: string | null;
            /**
             * Format: int64
             * @description Calls that one engine computes at once; default 8. Not beside a flavor.
             */
            parallel?: number | null;
            /** Format: int64 */
            replicas?: number | null;
            /** @description An absolute path that exists on every node, or a reference such as `hf://owner/model`. */
            weights?: string | null;
        };
        /** @description The body of every error. */
        Error: {
            /**
             * @description Stable, for programs.
             * @example not_found
             */
            code: string;
            /** @description The current record, in a `version_conflict`. */
            current?: Record<string, never>;
            /** @description For people; it may change. */
            error: string;
            /** @description The member of the request at fault. */
            field?: string;
            /**
             * Format: int64
             * @description The limit that is reached.
             */
            limit?: number;
        };
        EventList: {
            data: components["schemas"]["EndpointEvent"][];
            /** @description Where the next page begins; null at the end. */
            nextCursor?: string | null;
            /** @description `list` */
            object: string;
        };
        FitVerdict: {
            fits: boolean;
            why: string;
        };
        /** @description Whether replicas of a flavor have a place. */
        FlavorFit: {
            /** @description Null if it is not known. */
            fits?: boolean | null;
            /**
             * Format: int64
             * @description Replicas that have a place now.
             */
            freeReplicas?: number | null;
            /**
             * Format: int64
             * @description An estimate of the memory for the weights and for work; null if their size is not known.
             */
            neededMemoryBytes?: number | null;
            /**
             * Format: int64
             * @description Replicas that have a place if nothing else runs.
             */
            replicas?: number | null;
            /** @description Why it does not fit, or is not known. */
            why?: string | null;
        };
        /** @description A hardware shape for dedicated endpoints. */
        FlavorInput: {
            /** Format: int64 */
            defaultTarget?: number | null;
            driver?: string | null;
            engine?: string | null;
            /** Format: int64 */
            gpuCount?: number | null;
            /** @example nvidia/h100-sxm-80gb */
            gpuType: string;
            image?: string | null;
            /** Format: int64 */
            maxLen?: number | null;
            /** @example h100-1x-fp8 */
            name: string;
            precision?: string | null;
            /**
             * Format: int64
             * @description Prompt tokens in flight per replica above which an endpoint scales up; 0 means never.
             */
            prefillTarget?: number | null;
            /** @example 2.50 */
            pricePerGpuHour?: string | null;
            weights?: string | null;
        };
        FlavorLine: {
            /** Format: int32 */
            defaultTarget: number;
            engine: string;
            /** @description Null when the ledger cannot be read. */
            fits?: boolean | null;
            flavor: string;
            /** Format: int32 */
            gpuCount: number;
            gpuType: string;
            precision: string;
            /** @description Decimal text in USD. */
            pricePerGpuHour: string;
            /** Format: int64 */
            replicasThatFit?: number | null;
        };
        FlavorList: {
            data: components["schemas"]["FlavorLine"][];
            /** @description Where the next page begins; null at the end. */
            nextCursor?: string | null;
            /** @description `list` */
            object: string;
        };
        /** @description GPU-hours, their cost and how busy the GPUs were, by group and in total. */
        GpuCosts: {
            data: components["schemas"]["GpuCostsLine"][];
            /** Format: date-time */
            from: string;
            /**
             * Format: date-time
             * @description Never after now.
             */
            to: string;
            total: components["schemas"]["GpuCostsTotal"];
        };
        GpuCostsLine: components["schemas"]["GpuCostsTotal"] & {
            /**
             * Format: date
             * @description If grouped by day, in UTC.
             */
            day?: string;
            /** @description Its name, if grouped by endpoint. */
            endpoint?: string;
            /** @description If grouped by endpoint. The endpoint may have been deleted. */
            endpointId?: string;
            /** @description If grouped by GPU type. */
            gpuType?: string;
            /** @description If grouped by workspace. */
            workspaceId?: string;
        };
        GpuCostsTotal: {
            /** @description Decimal text in USD. */
            costUsd: string;
            /** @description GPUs held times hours, decimal text. Includes failed starts, which cost nothing. */
            gpuHours: string;
            /**
             * Format: double
             * @description How busy the GPUs were, a fraction: the mean over windows of five minutes in which an endpoint held GPUs. A
             *     window without measurements counts as 0.
             */
            utilization: number;
        };
        GpuReport: {
            /** @description Whether a process computes on it. */
            busy: boolean;
            /**
             * Format: int32
             * @description The share of the last moments in which it computed; null for slots, and for GPUs that do not report it.
             */
            busyPercent?: number | null;
            gpuType: string;
            id: string;
            /**
             * Format: int64
             * @description Null as above.
             */
            memoryBytes?: number | null;
        };
        /** @description The body of every error. */
        InferenceError: {
            error: components["schemas"]["InferenceErrorMembers"];
        };
        InferenceErrorMembers: {
            /** @description Stable, for programs. */
            code: string;
            /** @description For people; it may change. */
            message: string;
            /** @description The member of the request at fault, or empty. */
            param: string;
            /** @description A category, such as `invalid_request_error`. */
            type: string;
        };
        /** @description The tokens of an input. */
        InputTokenCount: {
            /** Format: int64 */
            input_tokens: number;
            /** @description `response.input_tokens` */
            object: string;
        };
        Invitation: {
            /** Format: date-time */
            createdAt: string;
            createdBy?: string | null;
            email: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            role: components["schemas"]["Role"];
            /** @description The link, in the response that created it only. */
            url?: string;
            workspaceIds: string[];
        };
        /** @description The organization and role that a link grants. */
        InvitationPreview: {
            /** @description Whether the address has an account, whose password is then required. */
            accountExists: boolean;
            /** @description Whether that account is proven to belong to the owner of the address. If not, `newAccount` creates another one. */
            accountProven: boolean;
            email: string;
            /** Format: date-time */
            expiresAt: string;
            organizationName: string;
            role: components["schemas"]["Role"];
        };
        /** @description The data of an invoice for a workspace and a month. Amounts are decimal text in USD; lines add up to the total. */
        Invoice: {
            /** @example USD */
            currency: string;
            dedicated: components["schemas"]["DedicatedInvoiceLine"][];
            dedicatedUsd: string;
            /** @description False until 15 minutes after the end of the month. */
            final: boolean;
            /** Format: date-time */
            from: string;
            /** @example 2026-11 */
            month: string;
            organization: string;
            organizationId: string;
            serverless: components["schemas"]["ServerlessInvoiceLine"][];
            serverlessUsd: string;
            /** Format: date-time */
            to: string;
            totalUsd: string;
            workspace: string;
            workspaceId: string;
        };
        JoinedOrganization: {
            id: string;
            name: string;
            role: components["schemas"]["Role"];
        };
        JoinedWorkspace: {
            id: string;
            name: string;
            organizationId: string;
        };
        JournalReport: {
            /** Format: int64 */
            maxBytes: number;
            /**
             * Format: int64
             * @description Usage events that wait for the store.
             */
            waitingBytes: number;
        };
        /** @description An API key. Its text is included only when it is new. */
        Key: {
            /** Format: date-time */
            createdAt: string;
            /** @description The user who created it; null for keys that no user created. */
            createdBy?: string | null;
            /** Format: date-time */
            expiresAt?: string | null;
            /** @example key_01k0000000000000000000000 */
            id: string;
            /** @description The whole key, in the response that created or rotated it only. */
            key?: string;
            /**
             * Format: date-time
             * @description Updated with a delay, after the call.
             */
            lastUsedAt?: string | null;
            name: string;
            /**
             * @description The public part of the key.
             * @example sk-3f9k2m7q1x8a-…
             */
            prefix: string;
            /** Format: int64 */
            requestsPerMinute?: number | null;
            state: components["schemas"]["KeyState"];
            /** Format: int64 */
            tokensPerMinute?: number | null;
        };
        KeyCreator: {
            /** @description Null if the user was deleted. */
            email?: string | null;
            /** @description False if the user was removed from the organization. */
            hasAccess: boolean;
            id: string;
        };
        /** @enum {string} */
        KeyState: "active" | "revoked" | "disabled" | "expired";
        Left: {
            /** Format: int64 */
            limit: number;
            /** Format: int64 */
            remaining: number;
        };
        Link: {
            /** @description The part of the link after `#`. */
            token: string;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Alias: {
            data: {
                /** @description A Model ID, or `dedicated/<name>`. */
                model: string;
                /** @description The name that clients send, or a prefix of such names followed by `*`. */
                name: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Allotment: {
            data: {
                /** Format: int64 */
                allotment: number;
                /** Format: int64 */
                committed: number;
                /** @example nvidia/h100-sxm-80gb */
                gpuType: string;
                /**
                 * Format: int64
                 * @description Negative after a cap was lowered.
                 */
                headroom: number;
                /**
                 * Format: double
                 * @description The committed share of the cap, a fraction.
                 */
                utilization: number;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_AuditEntry: {
            data: {
                /** @description A noun and a verb, such as `key.revoke`. */
                action: string;
                /** @description The id of a user or of a key, `forebay admin` or `first start`. */
                actor: string;
                /** @description The actor's address, as long as it is a user. */
                actorEmail?: string | null;
                /** @description The actor's name, as long as it is a key. */
                actorKeyName?: string | null;
                /** @description The address that the request came from. */
                address?: string | null;
                after?: Record<string, never> | null;
                /** Format: date-time */
                at: string;
                before?: Record<string, never> | null;
                detail: string;
                id: string;
                organizationId?: string | null;
                /** @description The id of what was changed. */
                subject: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Invitation: {
            data: {
                /** Format: date-time */
                createdAt: string;
                createdBy?: string | null;
                email: string;
                /** Format: date-time */
                expiresAt: string;
                id: string;
                role: components["schemas"]["Role"];
                /** @description The link, in the response that created it only. */
                url?: string;
                workspaceIds: string[];
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Key: {
            data: {
                /** Format: date-time */
                createdAt: string;
                /** @description The user who created it; null for keys that no user created. */
                createdBy?: string | null;
                /** Format: date-time */
                expiresAt?: string | null;
                /** @example key_01k0000000000000000000000 */
                id: string;
                /** @description The whole key, in the response that created or rotated it only. */
                key?: string;
                /**
                 * Format: date-time
                 * @description Updated with a delay, after the call.
                 */
                lastUsedAt?: string | null;
                name: string;
                /**
                 * @description The public part of the key.
                 * @example sk-3f9k2m7q1x8a-…
                 */
                prefix: string;
                /** Format: int64 */
                requestsPerMinute?: number | null;
                state: components["schemas"]["KeyState"];
                /** Format: int64 */
                tokensPerMinute?: number | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Member: {
            data: {
                email: string;
                role: components["schemas"]["Role"];
                userId: string;
                /** @description The workspaces that the member was added to; administrators belong to all. Empty in the list of a workspace. */
                workspaceIds: string[];
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Node: {
            data: {
                catalogueHash: string;
                id: string;
                /** Format: date-time */
                seenAt: string;
                /** Format: date-time */
                startedAt: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorAlias: {
            data: {
                model: string;
                /** @description The name that clients send, or a prefix of such names followed by `*`. */
                name: string;
                /** @description `file` or `store`. Aliases of the file can only be changed there. */
                source: string;
                /**
                 * Format: int64
                 * @description Null for aliases of the file.
                 */
                version?: number | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorErrorCount: {
            data: {
                code: string;
                /** Format: int64 */
                count: number;
                /** Format: date-time */
                lastAt: string;
                /** @description Empty if the calls named no known model. */
                model: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorGpu: {
            data: {
                /** @description Whether a process computes on it; null for GPUs of the cluster. */
                busy?: boolean | null;
                /**
                 * Format: int32
                 * @description The share of the last moments in which it computed; null if it is not reported.
                 */
                busyPercent?: number | null;
                /** @description Whether it is a GPU of the cluster. Those have no ids of their own. */
                cluster: boolean;
                gpuType: string;
                holder?: null | components["schemas"]["OperatorGpuHolder"];
                /** @description Unique on its node. */
                id: string;
                /** @description The model that it serves, if Forebay has it. */
                model?: string | null;
                /** @description The node of Forebay, or the one of the cluster. */
                node: string;
                state: components["schemas"]["OperatorGpuState"];
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorGpuType: {
            data: {
                /** @description `process`: GPUs and slots of the nodes' machines. `kubernetes`: a type of the cluster. */
                driver: string;
                /** @example nvidia/h100-sxm-80gb */
                gpuType: string;
                /** @description The nodes that have it; of a cluster, those that accept Pods. */
                nodes: components["schemas"]["OperatorNodeGpus"][];
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorLog: {
            data: {
                /**
                 * Format: int64
                 * @description Without the parts that were rotated away; null for a Pod.
                 */
                bytes?: number | null;
                /** @description The node of the cluster that has it. */
                clusterNode?: string | null;
                /** @description The endpoint of a replica that has its GPUs now. */
                endpointName?: string | null;
                model?: string | null;
                /** @description The node of Forebay that has it; null for a Pod, whose log every node reads. */
                node?: string | null;
                /** @description The id of a replica, or the name of an engine of a serverless model, such as `acme/tiny#1`. */
                replicaId: string;
                /**
                 * Format: date-time
                 * @description Null for a Pod.
                 */
                writtenAt?: string | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorModel: {
            data: {
                /** @example 0.05 */
                cachedInputPer1m: string;
                /** Format: int64 */
                contextLength: number;
                /** Format: date-time */
                createdAt?: string | null;
                enabled: boolean;
                engine?: null | components["schemas"]["OperatorEngine"];
                /** @description Whether a stream whose replica is lost goes on at another one. */
                failover: boolean;
                flavors: components["schemas"]["OperatorFlavor"][];
                id: string;
                /** @example 0.10 */
                inputPer1m: string;
                mediaUrls: boolean;
                mergeSystem: boolean;
                /** @description `chat` or `embedding`. */
                modality: string;
                name: string;
                optimized: boolean;
                /** @example 0.40 */
                outputPer1m: string;
                /** @description Why this node does not serve the model, although it is enabled. */
                problem?: string | null;
                refusedMembers?: string[] | null;
                /** @description The servers behind the model, as this node sees them. */
                replicas: components["schemas"]["OperatorServer"][];
                sharePrefixCache: boolean;
                /** @description `file` or `store`. Models of the file can only be changed there. */
                source: string;
                /** @description `available`, `degraded`, `unavailable` or `disabled`. */
                status: string;
                thinking?: string | null;
                /** Format: date-time */
                updatedAt?: string | null;
                upstreams: components["schemas"]["OperatorUpstream"][];
                /** @description Only in the response about a single model. */
                usedBy?: components["schemas"]["OperatorModelUses"];
                /**
                 * Format: int64
                 * @description Increases with every change. Null for models of the file.
                 */
                version?: number | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorNode: {
            data: {
                /** @description Whether its last heartbeat is recent. */
                alive: boolean;
                catalogueHash: string;
                id: string;
                /** @description Whether it leads the control plane. */
                leader: boolean;
                report?: null | components["schemas"]["NodeReport"];
                /** @description Whether it serves the same catalogue as the node that responds. */
                sameCatalogue: boolean;
                /**
                 * Format: date-time
                 * @description The last heartbeat.
                 */
                seenAt: string;
                /** @description Whether it is the node that responds. */
                self: boolean;
                /** Format: date-time */
                startedAt: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OperatorOrganization: {
            data: {
                /** @description Allotted and committed GPUs, by type. */
                allotments: components["schemas"]["Allotment"][];
                /** Format: date-time */
                createdAt: string;
                id: string;
                /**
                 * Format: int64
                 * @description The number of members.
                 */
                members: number;
                name: string;
                /**
                 * Format: int64
                 * @description The number of workspaces.
                 */
                workspaces: number;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Organization: {
            data: {
                /** Format: date-time */
                createdAt: string;
                /** @example org_01k0000000000000000000000 */
                id: string;
                name: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OrganizationKey: {
            data: (components["schemas"]["Key"] & {
                creator?: null | components["schemas"]["KeyCreator"];
                workspaceId: string;
            })[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_OwnSession: {
            data: {
                /** @description The address at sign-in. */
                address: string;
                /** Format: date-time */
                createdAt: string;
                /** @description Whether it is the session of this request. */
                current: boolean;
                /** Format: date-time */
                expiresAt: string;
                id: string;
                /**
                 * Format: date-time
                 * @description Accurate to a minute.
                 */
                seenAt: string;
                userAgent: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_PriceVersion: {
            data: {
                /** @example 0.05 */
                cachedInputPer1m: string;
                /** @example 0.10 */
                inputPer1m: string;
                model: string;
                /** @example 0.40 */
                outputPer1m: string;
                /** Format: date-time */
                validFrom: string;
                /**
                 * Format: date-time
                 * @description The start of the next version; null for the current one.
                 */
                validUntil?: string | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Request: {
            data: {
                /**
                 * Format: date-time
                 * @description When it was received.
                 */
                at: string;
                /** Format: int64 */
                cachedTokens: number;
                /**
                 * @description How the tokens are known: `exact`, `estimated` or `void`.
                 * @example exact
                 */
                certainty: string;
                /** @description The code of an error, else empty. A broken stream has a code and status 200. */
                code: string;
                /** Format: int64 */
                completionTokens: number;
                /** @description Decimal text in USD. Calls to dedicated endpoints cost nothing by themselves. */
                costUsd: string;
                /** Format: double */
                durationMillis: number;
                /**
                 * Format: int32
                 * @description How often the stream went on at another replica after its replica was lost.
                 */
                failovers: number;
                /**
                 * Format: double
                 * @description Until the first byte of the response.
                 */
                firstByteMillis?: number | null;
                /**
                 * Format: double
                 * @description How long it was held until a replica was ready; null if not held.
                 */
                holdMillis?: number | null;
                /** @description The `x-request-id` of the response. */
                id: string;
                /** @description The key of the call, or null if a user called. */
                key?: string | null;
                /** @description Null if the call named an unknown model. */
                model?: string | null;
                /** Format: int64 */
                promptTokens: number;
                /**
                 * Format: double
                 * @description Until it was sent to a replica, without the hold.
                 */
                queueMillis?: number | null;
                /** @description The replica that served it, the last one if there were several, or null. */
                replica?: string | null;
                /** @description The name that the client sent, if it is an alias of the model; else null. */
                requestedModel?: string | null;
                /**
                 * Format: int32
                 * @description The status of the response; 499 if the client disconnected.
                 */
                status: number;
                streamed: boolean;
                /** @description The API of the call: `chat`, `messages`, `embeddings` and so on; null for calls of older versions. */
                surface?: string | null;
                /** @description The user who called in the Playground. */
                user?: string | null;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_User: {
            data: {
                /** Format: date-time */
                createdAt: string;
                email: string;
                /** @description Whether the identity provider or the operator vouches that the address belongs to the user. */
                emailProven: boolean;
                /** @example usr_01k0000000000000000000000 */
                id: string;
                memberships: components["schemas"]["Membership"][];
                /** @description The operator runs the platform. */
                operator: boolean;
                /** @description A generated password, in the response that generated it only. */
                password?: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_WeightsDownload: {
            data: {
                /** Format: int64 */
                bytes: number;
                /**
                 * Format: int64
                 * @description While bytes arrive.
                 */
                bytesPerSecond: number;
                /** Format: date-time */
                createdAt: string;
                /**
                 * Format: int64
                 * @description Bytes that have arrived.
                 */
                doneBytes: number;
                /** @description Why it failed. */
                error?: string | null;
                id: string;
                license?: string | null;
                /** @description The node that downloads to its machine. */
                nodeId: string;
                repository: string;
                /** @description `queued`, `downloading`, `verifying`, `done`, `failed`, `cancelled` or `missing` (its files were deleted). */
                state: string;
                /** @description Models of the catalogue with these weights, and endpoints that keep a deleted flavor, such as `dedicated/tiny`. */
                usedBy: string[];
                /** @description For `engine.weights` of a model. */
                weights: string;
            }[];
            nextCursor?: string | null;
        };
        /** @description A page of a list, and the cursor of the next one; null at the end. */
        List_Workspace: {
            data: {
                /** @example ws_01k0000000000000000000000 */
                id: string;
                /** Format: int64 */
                maxApiKeys: number;
                /** Format: int64 */
                monthlyTokens: number;
                name: string;
                organizationId: string;
                /** Format: int64 */
                requestsPerMinute: number;
                /**
                 * Format: int32
                 * @description The days for which responses are stored; null if they are not.
                 */
                responseRetentionDays?: number | null;
                /** Format: int64 */
                tokensPerMinute: number;
                /**
                 * Format: int64
                 * @description Increases with every change. A change names the version that it read.
                 */
                version: number;
            }[];
            nextCursor?: string | null;
        };
        LocalWeights: {
            /**
             * Format: int64
             * @description Of all parts.
             */
            bytes: number;
            path: string;
        };
        /** @description A log of this machine. */
        LogReport: {
            /**
             * Format: int64
             * @description Without the parts that were rotated away.
             */
            bytes: number;
            /** @description A replica, or an engine of a serverless model, such as `acme/tiny#1`. */
            name: string;
            /** Format: date-time */
            writtenAt: string;
        };
        LookupRequest: {
            /**
             * @description `hf://owner/name`, `hf://owner/name/file.gguf`, the address of its page on the hub, or a path in the models folder.
             * @example hf://acme/tiny-GGUF
             */
            reference: string;
        };
        /** @description A member of an organization or of a workspace. */
        Member: {
            email: string;
            role: components["schemas"]["Role"];
            userId: string;
            /** @description The workspaces that the member was added to; administrators belong to all. Empty in the list of a workspace. */
            workspaceIds: string[];
        };
        Membership: {
            organizationId: string;
            role: components["schemas"]["Role"];
        };
        /** @description The body of every error. */
        MessagesError: {
            error: components["schemas"]["MessagesErrorMembers"];
            request_id: string;
            /** @description `error` */
            type: string;
        };
        MessagesErrorMembers: {
            /** @description Stable, for programs. */
            code: string;
            /** @description For people; it may change. */
            message: string;
            /** @description The member of the request at fault, or empty. */
            param: string;
            /** @description A category, such as `invalid_request_error`. */
            type: string;
        };
        MessagesRequest: {
            /** @description The most tokens to generate; lowered to what the context leaves. */
            max_tokens: number;
            messages: Record<string, never>[];
            /** @description A Model ID or an alias, as `GET /v1/models` lists them. */
            model: string;
            /** @description Events instead of one message. */
            stream?: boolean | null;
        };
        MinuteQuota: {
            requests: components["schemas"]["Left"];
            tokens: components["schemas"]["Left"];
        };
        Model: {
            /** @description The model that an alias stands for. */
            alias_of?: string | null;
            /** Format: int64 */
            context_length: number;
            /** Format: int64 */
            created: number;
            id: string;
            /** @description `chat` or `embedding` */
            modality: string;
            name: string;
            /** @description `model` */
            object: string;
            optimized: boolean;
            owned_by: string;
            pricing: components["schemas"]["ModelPricing"];
            provider: string;
            /** @description `available`, `degraded` or `unavailable` */
            status: string;
        };
        /** @description A change of a model. Absent members stay; null means the default. Lists are replaced as a whole. */
        ModelEdit: {
            /**
             * @description Default: `inputPer1m`.
             * @example 0.05
             */
            cachedInputPer1m?: string | null;
            /** Format: int64 */
            contextLength?: number | null;
            /** @description `process` (default) or `kubernetes`: what runs the flavors. */
            driver?: string | null;
            /** @description Whether the model is served; by default it is. */
            enabled?: boolean;
            engine?: null | components["schemas"]["EngineInput"];
            /** @description Whether a stream whose replica is lost goes on at another one. */
            failover?: boolean | null;
            flavors?: components["schemas"]["FlavorInput"][] | null;
            /**
             * @description USD per million tokens, decimal text; default 0.
             * @example 0.10
             */
            inputPer1m?: string | null;
            mediaUrls?: boolean | null;
            mergeSystem?: boolean | null;
            /**
             * @description `chat` (default) or `embedding`.
             * @example chat
             */
            modality?: string | null;
            /** @description Default: the id. */
            name?: string | null;
            optimized?: boolean | null;
            /** @example 0.40 */
            outputPer1m?: string | null;
            refusedMembers?: string[] | null;
            sharePrefixCache?: boolean | null;
            /** @description `reasoning_effort`, `enable_thinking` or `none`; default: by the kind of the engine. */
            thinking?: string | null;
            upstreams?: components["schemas"]["UpstreamInput"][] | null;
            /**
             * Format: int64
             * @description The version that was read.
             */
            version: number;
        };
        ModelList: {
            data: components["schemas"]["Model"][];
            /** @description `list` */
            object: string;
        };
        ModelPricing: {
            cached_input_per_1m: string;
            /** @description `USD` */
            currency: string;
            /** @description Decimal text. */
            input_per_1m: string;
            output_per_1m: string;
        };
        /** @description The response of a model to the operator. */
        ModelTest: {
            /** @description Null for embeddings. */
            answer?: string | null;
            /** Format: int64 */
            completionTokens?: number | null;
            /** Format: int64 */
            durationMillis: number;
            error?: string | null;
            ok: boolean;
            /** Format: int64 */
            promptTokens?: number | null;
            /** @description The server that was called; null if none accepts calls. */
            replica?: string | null;
        };
        Named: {
            name: string;
        };
        NewAlias: {
            /** @description A Model ID of the catalogue. */
            model: string;
            /** @example claude-sonnet-4-5 */
            name: string;
        };
        NewDownload: {
            /**
             * @description `weights` of a lookup, or another reference that leads to one model.
             * @example hf://acme/tiny-GGUF/tiny.Q4_K_M.gguf
             */
            reference: string;
        };
        /** @description The body of a create. */
        NewEndpoint: {
            /** @description `concurrency` or `kv-cache-utilization`. */
            autoscalingMetric?: string | null;
            /**
             * Format: double
             * @description Calls (1 to 1024), or a fraction of the cache (0.10 to 0.95).
             */
            autoscalingTarget?: number | null;
            /** Format: int32 */
            maxReplicas?: number | null;
            /** Format: int32 */
            minReplicas?: number | null;
            /** Format: int32 */
            replicas?: number | null;
            /** Format: int32 */
            scaleDownWindowSeconds?: number | null;
            /** Format: int32 */
            scaleToZeroWindowSeconds?: number | null;
            /** Format: int32 */
            scaleUpWindowSeconds?: number | null;
        } & {
            flavor: string;
            /** @description Texts by name. */
            labels?: {
                [key: string]: string | null;
            } | null;
            model: string;
            name: string;
        };
        NewInvitation: {
            email: string;
            role: components["schemas"]["Role"];
            /** @description Workspaces to put the new member into. */
            workspaceIds?: string[];
        };
        NewKey: {
            /**
             * Format: date-time
             * @description When the key stops working; never if absent.
             */
            expiresAt?: string | null;
            name: string;
            /** Format: int64 */
            requestsPerMinute?: number | null;
            /** Format: int64 */
            tokensPerMinute?: number | null;
        };
        /** @description A new model. One of `upstreams`, `engine` and `flavors` is required. */
        NewModel: {
            /**
             * @description Default: `inputPer1m`.
             * @example 0.05
             */
            cachedInputPer1m?: string | null;
            /** Format: int64 */
            contextLength?: number | null;
            /** @description `process` (default) or `kubernetes`: what runs the flavors. */
            driver?: string | null;
            /** @description Whether the model is served; by default it is. */
            enabled?: boolean;
            engine?: null | components["schemas"]["EngineInput"];
            /** @description Whether a stream whose replica is lost goes on at another one. */
            failover?: boolean | null;
            flavors?: components["schemas"]["FlavorInput"][] | null;
            /** @example acme/tiny-chat */
            id: string;
            /**
             * @description USD per million tokens, decimal text; default 0.
             * @example 0.10
             */
            inputPer1m?: string | null;
            mediaUrls?: boolean | null;
            mergeSystem?: boolean | null;
            /**
             * @description `chat` (default) or `embedding`.
             * @example chat
             */
            modality?: string | null;
            /** @description Default: the id. */
            name?: string | null;
            optimized?: boolean | null;
            /** @example 0.40 */
            outputPer1m?: string | null;
            refusedMembers?: string[] | null;
            sharePrefixCache?: boolean | null;
            /** @description `reasoning_effort`, `enable_thinking` or `none`; default: by the kind of the engine. */
            thinking?: string | null;
            upstreams?: components["schemas"]["UpstreamInput"][] | null;
        };
        NewPassword: {
            /** Format: password */
            currentPassword: string;
            /** Format: password */
            newPassword: string;
        };
        NewRole: {
            role: components["schemas"]["Role"];
        };
        NewUser: {
            email: string;
            operator?: boolean;
            organizationId: string;
            /**
             * Format: password
             * @description Generated and shown once if absent.
             */
            password?: string | null;
            role: components["schemas"]["Role"];
        };
        NewWorkspace: {
            name: string;
        };
        Node: {
            catalogueHash: string;
            id: string;
            /** Format: date-time */
            seenAt: string;
            /** Format: date-time */
            startedAt: string;
        };
        /** @description The state of a node at its last heartbeat. */
        NodeReport: {
            /**
             * Format: int64
             * @description Open calls, streams included; those that wait for a replica count, too.
             */
            callsInFlight: number;
            /**
             * Format: int64
             * @description How far the clock of the node is ahead of the store's.
             */
            clockSkewMillis?: number | null;
            /** @description The downloads of weights to its machine. Older versions do not report them. */
            downloads?: components["schemas"]["DownloadReport"][];
            /** @description The GPUs and slots of its machine. */
            gpus: components["schemas"]["GpuReport"][];
            /**
             * Format: int64
             * @description Calls that wait for a replica.
             */
            heldCalls: number;
            journal: components["schemas"]["JournalReport"];
            /** @description The logs of engines on its machine. Older versions do not report them. */
            logs?: components["schemas"]["LogReport"][];
            /** @description The parts of `/readyz`. */
            parts: components["schemas"]["PartReport"][];
            /**
             * Format: double
             * @description Null if limits are in memory, or Redis does not respond.
             */
            redisLatencyMillis?: number | null;
            /** @description `ready`, `degraded`, `not_ready` or `draining`. */
            status: string;
            /** Format: double */
            storeLatencyMillis?: number | null;
            version: string;
        };
        OfferedModel: {
            /** Format: int64 */
            contextLength?: number | null;
            id: string;
        };
        OidcMethod: {
            /** @description The label of the button. */
            name: string;
            /** @description The target of the button. */
            url: string;
        };
        OperatorAlias: {
            model: string;
            /** @description The name that clients send, or a prefix of such names followed by `*`. */
            name: string;
            /** @description `file` or `store`. Aliases of the file can only be changed there. */
            source: string;
            /**
             * Format: int64
             * @description Null for aliases of the file.
             */
            version?: number | null;
        };
        OperatorCatalogue: {
            /** @description Whether keys of upstreams can be entered: FOREBAY_CONTENT_KEY is set. */
            canStoreKeys: boolean;
            /** @description A digest of the catalogue that this node serves. */
            hash: string;
            /** @description `file`, `store` or `both`. */
            mode: string;
            /** @description Whether models and aliases can be created and changed. */
            writable: boolean;
        };
        OperatorEngine: {
            flavor?: string | null;
            /**
             * Format: int32
             * @description Calls that one engine computes at once; null for its default.
             */
            parallel?: number | null;
            /** Format: int32 */
            replicas: number;
            weights: string;
        };
        /** @description Failed calls of one cause. */
        OperatorErrorCount: {
            code: string;
            /** Format: int64 */
            count: number;
            /** Format: date-time */
            lastAt: string;
            /** @description Empty if the calls named no known model. */
            model: string;
        };
        OperatorFinding: {
            check: string;
            /** @description `ok`, `warning` or `problem`. */
            level: string;
            /** @description How to fix it; empty if ok. */
            remedy: string;
            what: string;
        };
        /** @description The result of the doctor's checks on the node that responds. */
        OperatorFindings: {
            /** Format: date-time */
            checkedAt: string;
            findings: components["schemas"]["OperatorFinding"][];
            /** @description The worst level: `ok`, `warning` or `problem`. */
            status: string;
        };
        OperatorFlavor: {
            /** @description The command that starts the engine, if the file names one. */
            argv?: string[] | null;
            /** Format: int32 */
            defaultTarget?: number | null;
            /** @description `process` or `kubernetes`. */
            driver: string;
            engine?: string | null;
            /** Format: int32 */
            gpuCount: number;
            gpuType: string;
            image?: string | null;
            /** Format: int64 */
            maxLen?: number | null;
            name: string;
            precision: string;
            /**
             * Format: int64
             * @description Prompt tokens in flight per replica above which an endpoint scales up; 0 means never.
             */
            prefillTarget?: number | null;
            /** @example 2.50 */
            pricePerGpuHour: string;
            weights?: string | null;
        };
        OperatorFlavorUses: {
            /** Format: int64 */
            endpoints: number;
            flavor: string;
        };
        /** @description A GPU or slot, and what has it. */
        OperatorGpu: {
            /** @description Whether a process computes on it; null for GPUs of the cluster. */
            busy?: boolean | null;
            /**
             * Format: int32
             * @description The share of the last moments in which it computed; null if it is not reported.
             */
            busyPercent?: number | null;
            /** @description Whether it is a GPU of the cluster. Those have no ids of their own. */
            cluster: boolean;
            gpuType: string;
            holder?: null | components["schemas"]["OperatorGpuHolder"];
            /** @description Unique on its node. */
            id: string;
            /** @description The model that it serves, if Forebay has it. */
            model?: string | null;
            /** @description The node of Forebay, or the one of the cluster. */
            node: string;
            state: components["schemas"]["OperatorGpuState"];
        };
        OperatorGpuHolder: {
            endpointId: string;
            endpointName: string;
            model: string;
            organizationId: string;
            replicaId: string;
            /** Format: date-time */
            since: string;
            workspaceId: string;
        };
        /**
         * @description What has a GPU.
         * @enum {string}
         */
        OperatorGpuState: "free" | "held" | "serverless" | "other" | "unknown" | "unavailable";
        /** @description A GPU type that flavors can name. */
        OperatorGpuType: {
            /** @description `process`: GPUs and slots of the nodes' machines. `kubernetes`: a type of the cluster. */
            driver: string;
            /** @example nvidia/h100-sxm-80gb */
            gpuType: string;
            /** @description The nodes that have it; of a cluster, those that accept Pods. */
            nodes: components["schemas"]["OperatorNodeGpus"][];
        };
        /** @description The log of an engine. */
        OperatorLog: {
            /**
             * Format: int64
             * @description Without the parts that were rotated away; null for a Pod.
             */
            bytes?: number | null;
            /** @description The node of the cluster that has it. */
            clusterNode?: string | null;
            /** @description The endpoint of a replica that has its GPUs now. */
            endpointName?: string | null;
            model?: string | null;
            /** @description The node of Forebay that has it; null for a Pod, whose log every node reads. */
            node?: string | null;
            /** @description The id of a replica, or the name of an engine of a serverless model, such as `acme/tiny#1`. */
            replicaId: string;
            /**
             * Format: date-time
             * @description Null for a Pod.
             */
            writtenAt?: string | null;
        };
        OperatorMachine: {
            /** Format: int64 */
            availableMemoryBytes?: number | null;
            /** Format: int64 */
            freeDiskBytes?: number | null;
            gpus: components["schemas"]["OperatorMachineGpu"][];
            /**
             * Format: int64
             * @description Null if unknown, as the next ones.
             */
            memoryBytes?: number | null;
        };
        OperatorMachineGpu: {
            /** Format: int64 */
            freeMemoryBytes: number;
            gpuType: string;
            id: string;
            /** Format: int64 */
            memoryBytes: number;
        };
        /** @description A model of the catalogue, with the values in force. */
        OperatorModel: {
            /** @example 0.05 */
            cachedInputPer1m: string;
            /** Format: int64 */
            contextLength: number;
            /** Format: date-time */
            createdAt?: string | null;
            enabled: boolean;
            engine?: null | components["schemas"]["OperatorEngine"];
            /** @description Whether a stream whose replica is lost goes on at another one. */
            failover: boolean;
            flavors: components["schemas"]["OperatorFlavor"][];
            id: string;
            /** @example 0.10 */
            inputPer1m: string;
            mediaUrls: boolean;
            mergeSystem: boolean;
            /** @description `chat` or `embedding`. */
            modality: string;
            name: string;
            optimized: boolean;
            /** @example 0.40 */
            outputPer1m: string;
            /** @description Why this node does not serve the model, although it is enabled. */
            problem?: string | null;
            refusedMembers?: string[] | null;
            /** @description The servers behind the model, as this node sees them. */
            replicas: components["schemas"]["OperatorServer"][];
            sharePrefixCache: boolean;
            /** @description `file` or `store`. Models of the file can only be changed there. */
            source: string;
            /** @description `available`, `degraded`, `unavailable` or `disabled`. */
            status: string;
            thinking?: string | null;
            /** Format: date-time */
            updatedAt?: string | null;
            upstreams: components["schemas"]["OperatorUpstream"][];
            /** @description Only in the response about a single model. */
            usedBy?: components["schemas"]["OperatorModelUses"];
            /**
             * Format: int64
             * @description Increases with every change. Null for models of the file.
             */
            version?: number | null;
        };
        /** @description What refers to a model. */
        OperatorModelUses: {
            /** @description Aliases of the catalogue. */
            aliases: string[];
            /**
             * Format: int64
             * @description The number of dedicated endpoints.
             */
            endpoints: number;
            /** @description The same by flavor. An endpoint keeps its flavor when the model no longer offers it. */
            flavors: components["schemas"]["OperatorFlavorUses"][];
            /**
             * Format: int64
             * @description The number of aliases of workspaces.
             */
            workspaceAliases: number;
        };
        OperatorNode: {
            /** @description Whether its last heartbeat is recent. */
            alive: boolean;
            catalogueHash: string;
            id: string;
            /** @description Whether it leads the control plane. */
            leader: boolean;
            report?: null | components["schemas"]["NodeReport"];
            /** @description Whether it serves the same catalogue as the node that responds. */
            sameCatalogue: boolean;
            /**
             * Format: date-time
             * @description The last heartbeat.
             */
            seenAt: string;
            /** @description Whether it is the node that responds. */
            self: boolean;
            /** Format: date-time */
            startedAt: string;
        };
        OperatorNodeGpus: {
            /**
             * Format: int32
             * @description Those that nothing uses; of a cluster, no Pod that is known.
             */
            free: number;
            /** Format: int32 */
            gpus: number;
            /**
             * Format: int64
             * @description Memory of a GPU; null for slots and for a cluster.
             */
            memoryBytes?: number | null;
            node: string;
        };
        /** @description An organization with its size and its GPUs. */
        OperatorOrganization: {
            /** @description Allotted and committed GPUs, by type. */
            allotments: components["schemas"]["Allotment"][];
            /** Format: date-time */
            createdAt: string;
            id: string;
            /**
             * Format: int64
             * @description The number of members.
             */
            members: number;
            name: string;
            /**
             * Format: int64
             * @description The number of workspaces.
             */
            workspaces: number;
        };
        OperatorServer: {
            /** @description `up`, `down` or `unknown`. */
            health: string;
            /** Format: int32 */
            inFlight: number;
            name: string;
        };
        OperatorUpstream: {
            continuousUsage: boolean;
            engine?: string | null;
            /** @description Whether a key is sent to it. The key itself is never shown. */
            hasKey: boolean;
            healthPath: string;
            /** Format: int32 */
            maxInFlight?: number | null;
            model: string;
            /** @description The APIs whose calls are passed through to it: `messages`, `responses`. */
            native: string[];
            url: string;
        };
        /** @description The sources of weights, and this machine. */
        OperatorWeights: {
            /** @description GGUF files in the models folder, at most 200. */
            files: components["schemas"]["LocalWeights"][];
            /** @description Whether HF_TOKEN is set. */
            hasToken: boolean;
            /** @example https://huggingface.co */
            hub: string;
            machine: components["schemas"]["OperatorMachine"];
            modelsFolder: string;
            /** @description The node that responds: files are those of its machine, and new downloads are for it. */
            nodeId: string;
        };
        Organization: {
            /** Format: date-time */
            createdAt: string;
            /** @example org_01k0000000000000000000000 */
            id: string;
            name: string;
        };
        /** @description An API key of any workspace of an organization, with its creator. */
        OrganizationKey: components["schemas"]["Key"] & {
            creator?: null | components["schemas"]["KeyCreator"];
            workspaceId: string;
        };
        /** @description A signed-in browser. */
        OwnSession: {
            /** @description The address at sign-in. */
            address: string;
            /** Format: date-time */
            createdAt: string;
            /** @description Whether it is the session of this request. */
            current: boolean;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            /**
             * Format: date-time
             * @description Accurate to a minute.
             */
            seenAt: string;
            userAgent: string;
        };
        PartReport: {
            name: string;
            /** @description `ok`, `degraded` or `unavailable`. */
            status: string;
            /** @description Empty if the part is ok. */
            why: string;
        };
        PasswordReset: {
            /**
             * Format: password
             * @description Generated and shown once if absent.
             */
            password?: string | null;
        };
        /** @description The price of a model in a span of time. */
        PriceVersion: {
            /** @example 0.05 */
            cachedInputPer1m: string;
            /** @example 0.10 */
            inputPer1m: string;
            model: string;
            /** @example 0.40 */
            outputPer1m: string;
            /** Format: date-time */
            validFrom: string;
            /**
             * Format: date-time
             * @description The start of the next version; null for the current one.
             */
            validUntil?: string | null;
        };
        ProbeCall: {
            /** Format: int64 */
            completionTokens?: number | null;
            /** @description Whether usage is in every chunk of a stream. */
            continuousUsage: boolean;
            /** Format: int64 */
            durationMillis: number;
            error?: string | null;
            /** @description `chat` or `embedding`. */
            modality: string;
            model: string;
            ok: boolean;
            /** Format: int64 */
            promptTokens?: number | null;
        };
        ProbeRequest: {
            /**
             * Format: password
             * @description Used for this probe only.
             */
            apiKey?: string | null;
            /** @description The model to call; default: the first one that the server lists. */
            model?: string | null;
            /** @example http://127.0.0.1:9001/v1 */
            url: string;
        };
        /** @description The remaining quota of the month and limits per minute of a workspace. */
        Quota: {
            /**
             * Format: int64
             * @description Tokens in a calendar month in UTC.
             */
            cap: number;
            perMinute: components["schemas"]["MinuteQuota"];
            /**
             * Format: int64
             * @description Reserved for running calls, and leased by nodes.
             */
            reserved: number;
            /** Format: date-time */
            resetsAt: string;
            /** Format: int64 */
            used: number;
        };
        ReconciledDifference: {
            /** Format: int64 */
            completionTokens: number;
            /** Format: int64 */
            promptTokens: number;
        };
        ReconciledTokens: {
            /** Format: int64 */
            completionTokens: number;
            /**
             * Format: int64
             * @description Without cached tokens, if the engine does not count them.
             */
            promptTokens: number;
        };
        /** @description Tokens billed against tokens that the engines counted, by replica and hour. */
        Reconciliation: {
            /** @description Newest hours first. */
            data: components["schemas"]["ReconciliationHour"][];
            /** Format: date-time */
            from: string;
            /** @description All hours of each replica in which its engine was read. */
            replicas: components["schemas"]["ReconciliationSum"][];
            /** Format: date-time */
            to: string;
        };
        ReconciliationHour: {
            billed: components["schemas"]["ReconciledTokens"];
            counted?: null | components["schemas"]["ReconciledTokens"];
            difference?: null | components["schemas"]["ReconciledDifference"];
            /**
             * Format: date-time
             * @description The start of the hour. A call belongs to the hour in which it ended.
             */
            hour: string;
            model: string;
            /**
             * Format: date-time
             * @description When the engine was last read in that hour. Later tokens are billed but not counted.
             */
            readUntil?: string | null;
            /** @description A replica's id, or the name of a model server. */
            replica: string;
        };
        ReconciliationSum: {
            billed: components["schemas"]["ReconciledTokens"];
            counted: components["schemas"]["ReconciledTokens"];
            difference: components["schemas"]["ReconciledDifference"];
            model: string;
            /** @description The nodes that ran the engine; empty for a model server that all nodes share, and for an organization. */
            nodes: string[];
            /** @description Whether clearly more was billed than counted: by 1,000 tokens and by a fiftieth. */
            overbilled: boolean;
            replica: string;
            /** @description Billed in hours in which the engine was not read. */
            unread: components["schemas"]["ReconciledTokens"];
        };
        ReplicaList: {
            data: components["schemas"]["EndpointReplica"][];
            /** @description Where the next page begins; null at the end. */
            nextCursor?: string | null;
            /** @description `list` */
            object: string;
        };
        /** @description One call. Prompts and responses are not stored. */
        Request: {
            /**
             * Format: date-time
             * @description When it was received.
             */
            at: string;
            /** Format: int64 */
            cachedTokens: number;
            /**
             * @description How the tokens are known: `exact`, `estimated` or `void`.
             * @example exact
             */
            certainty: string;
            /** @description The code of an error, else empty. A broken stream has a code and status 200. */
            code: string;
            /** Format: int64 */
            completionTokens: number;
            /** @description Decimal text in USD. Calls to dedicated endpoints cost nothing by themselves. */
            costUsd: string;
            /** Format: double */
            durationMillis: number;
            /**
             * Format: int32
             * @description How often the stream went on at another replica after its replica was lost.
             */
            failovers: number;
            /**
             * Format: double
             * @description Until the first byte of the response.
             */
            firstByteMillis?: number | null;
            /**
             * Format: double
             * @description How long it was held until a replica was ready; null if not held.
             */
            holdMillis?: number | null;
            /** @description The `x-request-id` of the response. */
            id: string;
            /** @description The key of the call, or null if a user called. */
            key?: string | null;
            /** @description Null if the call named an unknown model. */
            model?: string | null;
            /** Format: int64 */
            promptTokens: number;
            /**
             * Format: double
             * @description Until it was sent to a replica, without the hold.
             */
            queueMillis?: number | null;
            /** @description The replica that served it, the last one if there were several, or null. */
            replica?: string | null;
            /** @description The name that the client sent, if it is an alias of the model; else null. */
            requestedModel?: string | null;
            /**
             * Format: int32
             * @description The status of the response; 499 if the client disconnected.
             */
            status: number;
            streamed: boolean;
            /** @description The API of the call: `chat`, `messages`, `embeddings` and so on; null for calls of older versions. */
            surface?: string | null;
            /** @description The user who called in the Playground. */
            user?: string | null;
        };
        ResponseItemList: {
            data: Record<string, never>[];
            first_id?: string | null;
            has_more: boolean;
            last_id?: string | null;
            /** @description `list` */
            object: string;
        };
        ResponsesRequest: {
            /** @description A text, or the items of a conversation. */
            input: unknown;
            /** @description A Model ID, as `GET /v1/models` lists them. */
            model: string;
            /** @description Events instead of one response. */
            stream?: boolean | null;
        };
        Revocation: {
            keyIds: string[];
        };
        /** @enum {string} */
        Role: "admin" | "member";
        Rotation: {
            /**
             * Format: int64
             * @description How long the old secret keeps working; not at all if absent.
             */
            overlapSeconds?: number;
        };
        RunnableWeights: {
            /** Format: int64 */
            bytes: number;
            disk: components["schemas"]["FitVerdict"];
            download?: null | components["schemas"]["WeightsDownload"];
            /** @description Whether one engine can run on this machine. */
            fits: boolean;
            gpu?: null | components["schemas"]["FitVerdict"];
            memory: components["schemas"]["FitVerdict"];
            /**
             * Format: int64
             * @description Bytes that are not on this machine yet.
             */
            missingBytes: number;
            /** @description `chat` or `embedding`, if known from the files. */
            modality?: string | null;
            /** @description The file that names it. */
            name: string;
            /**
             * Format: int64
             * @description An estimate of weights and working memory.
             */
            neededMemoryBytes: number;
            /**
             * @description For `engine.weights` of a model, and for a download.
             * @example hf://acme/tiny-GGUF@0123456/tiny.Q4_K_M.gguf
             */
            weights: string;
        };
        /** @description One metric over a span of time: lines with one value for each of `starts`. */
        Series: {
            /** @description The largest first; without groups exactly one. */
            data: components["schemas"]["SeriesLine"][];
            /**
             * Format: date-time
             * @description The start of the first point.
             */
            from: string;
            /**
             * Format: date-time
             * @description Points before this are null: their data is no longer stored.
             */
            keptFrom: string;
            metric: string;
            /** @description The start of each point. */
            starts: string[];
            /** Format: int64 */
            stepSeconds: number;
            /**
             * Format: date-time
             * @description The end of the last point.
             */
            to: string;
            /** @description `calls`, `errors`, `tokens`, `seconds`, `starts` or `fraction`. */
            unit: string;
        };
        /** @description The group of a line, its value at each point, and in the whole span. */
        SeriesLine: {
            /** @description If grouped by code. */
            code?: string;
            /** @description If grouped by endpoint: its name. */
            endpoint?: string;
            /** @description If grouped by key: the key's id, or null if a user called. */
            key?: string | null;
            /** @description If grouped by model; null for calls that named an unknown model. */
            model?: string | null;
            /** @description True for the sum of all groups that have no line of their own. */
            others?: boolean;
            /** @description If grouped by replica: its id, or its name if it is a model's. */
            replica?: string;
            total: components["schemas"]["SeriesTotal"];
            /** @description If grouped by key: the user's id, or null if a key called. */
            user?: string | null;
            values: components["schemas"]["SeriesValues"];
        };
        /** @description The same members for the whole span. */
        SeriesTotal: {
            /** Format: double */
            cached?: number | null;
            /** Format: double */
            completion?: number | null;
            /** Format: double */
            count?: number | null;
            /** Format: double */
            max?: number | null;
            /** Format: double */
            mean?: number | null;
            /** Format: double */
            measured?: number | null;
            /** Format: double */
            p50?: number | null;
            /** Format: double */
            p95?: number | null;
            /** Format: double */
            p99?: number | null;
            /** Format: double */
            prompt?: number | null;
        };
        /** @description The members that the metric has; null at points without data. */
        SeriesValues: {
            /** @description A part of `prompt`. */
            cached?: (number | null)[];
            completion?: (number | null)[];
            /** @description Calls, errors or starts. */
            count?: (number | null)[];
            max?: (number | null)[];
            mean?: (number | null)[];
            /** @description Of `gpu_busy`: the fraction of the time with GPUs held that was measured. */
            measured?: (number | null)[];
            /** @description Percentiles in seconds, accurate to 2 %. */
            p50?: (number | null)[];
            p95?: (number | null)[];
            p99?: (number | null)[];
            /** @description Tokens. */
            prompt?: (number | null)[];
        };
        /** @description All calls to one model. */
        ServerlessInvoiceLine: {
            /** Format: int64 */
            cachedTokens: number;
            /** Format: int64 */
            completionTokens: number;
            costUsd: string;
            model: string;
            /** Format: int64 */
            promptTokens: number;
            /** Format: int64 */
            requests: number;
        };
        /** @description The signed-in user, with organizations and workspaces. */
        Session: components["schemas"]["SignedIn"] | components["schemas"]["SignedOut"];
        SignedIn: {
            /** @description For the header `X-CSRF-Token` of every change; it stays the same as long as the session. */
            csrfToken: string;
            currentOrganizationId?: string | null;
            currentWorkspaceId?: string | null;
            organizations: components["schemas"]["JoinedOrganization"][];
            user: components["schemas"]["SignedInUser"];
            /** @description The workspaces that the user belongs to, of all organizations. */
            workspaces: components["schemas"]["JoinedWorkspace"][];
        };
        SignedInUser: {
            email: string;
            id: string;
            /** @description The operator runs the platform. */
            operator: boolean;
        };
        SignedOut: {
            /** @example null */
            user?: boolean | null;
        };
        /** @description The ways to sign in. */
        SignInMethods: {
            oidc?: null | components["schemas"]["OidcMethod"];
            password: boolean;
        };
        TestRequest: {
            /** Format: int32 */
            maxTokens?: number;
            prompt?: string;
        };
        /** @description The tokens of a prompt. */
        TokenCount: {
            /** Format: int64 */
            input_tokens: number;
        };
        /** @description A model server outside of Forebay. */
        UpstreamInput: {
            /**
             * Format: password
             * @description Stored encrypted for this address, and never shown again. Absent: the stored key stays; null: it is deleted.
             */
            apiKey?: string | null;
            /** @description Default: true. */
            continuousUsage?: boolean | null;
            /** @description `forebay-engine`, `vllm`, `sglang` or `llama-server`, if known. */
            engine?: string | null;
            /** @description Default: `/health`. */
            healthPath?: string | null;
            /** Format: int64 */
            maxInFlight?: number | null;
            /** @description The model's name there; default: the id. */
            model?: string | null;
            /** @description The APIs that it speaks itself, `messages` and `responses`: their calls are passed through instead of translated. */
            native?: string[] | null;
            /** @example http://127.0.0.1:9001/v1 */
            url: string;
        };
        /** @description What a model server is. */
        UpstreamProbe: {
            call?: null | components["schemas"]["ProbeCall"];
            /** @description `forebay-engine`, `vllm`, `sglang` or `llama-server`, if recognized. */
            engine?: string | null;
            /** @description Why the server cannot be used. */
            error?: string | null;
            healthPath?: string | null;
            models: components["schemas"]["OfferedModel"][];
            reachable: boolean;
            /** @description The address without a trailing slash. */
            url: string;
            version?: string | null;
        };
        UsageLine: {
            /** Format: int64 */
            cachedTokens: number;
            /** Format: int64 */
            completionTokens: number;
            /** @description Decimal text in USD. */
            costUsd: string;
            /**
             * Format: date
             * @description If grouped by day, in UTC.
             */
            day?: string;
            /** @description If grouped by key: the key's id, or null if a user called. */
            key?: string | null;
            /** @description If grouped by model. */
            model?: string;
            /** Format: int64 */
            promptTokens: number;
            /** Format: int64 */
            requests: number;
            /** @description If grouped by surface: the API of the calls, or null if it was not recorded. */
            surface?: string | null;
            /** @description If grouped by key: the user's id, or null if a key called. */
            user?: string | null;
        };
        /** @description One line per group with usage, and their sum. */
        UsageReport: {
            data: components["schemas"]["UsageLine"][];
            total: components["schemas"]["UsageTotals"];
        };
        UsageTotals: {
            /** Format: int64 */
            cachedTokens: number;
            /** Format: int64 */
            completionTokens: number;
            costUsd: string;
            /** Format: int64 */
            promptTokens: number;
            /**
             * Format: int64
             * @description Served calls.
             */
            requests: number;
        };
        User: {
            /** Format: date-time */
            createdAt: string;
            email: string;
            /** @description Whether the identity provider or the operator vouches that the address belongs to the user. */
            emailProven: boolean;
            /** @example usr_01k0000000000000000000000 */
            id: string;
            memberships: components["schemas"]["Membership"][];
            /** @description The operator runs the platform. */
            operator: boolean;
            /** @description A generated password, in the response that generated it only. */
            password?: string;
        };
        UserEdit: {
            /** @description Whether the user runs the platform. */
            operator: boolean;
        };
        /** @description A download of weights. */
        WeightsDownload: {
            /** Format: int64 */
            bytes: number;
            /**
             * Format: int64
             * @description While bytes arrive.
             */
            bytesPerSecond: number;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: int64
             * @description Bytes that have arrived.
             */
            doneBytes: number;
            /** @description Why it failed. */
            error?: string | null;
            id: string;
            license?: string | null;
            /** @description The node that downloads to its machine. */
            nodeId: string;
            repository: string;
            /** @description `queued`, `downloading`, `verifying`, `done`, `failed`, `cancelled` or `missing` (its files were deleted). */
            state: string;
            /** @description Models of the catalogue with these weights, and endpoints that keep a deleted flavor, such as `dedicated/tiny`. */
            usedBy: string[];
            /** @description For `engine.weights` of a model. */
            weights: string;
        };
        /** @description What a reference leads to. */
        WeightsLookup: {
            architecture?: string | null;
            /**
             * Format: int64
             * @description The context length that the model was trained with.
             */
            contextLength?: number | null;
            /** @description Whether the owner has to grant access; needs HF_TOKEN. */
            gated: boolean;
            /** @description As the hub reports it. */
            license?: string | null;
            /** @description What forebay-engine can run, smallest first. */
            models: components["schemas"]["RunnableWeights"][];
            /** @description Why forebay-engine can run none of it. */
            problem?: string | null;
            /**
             * @description Null for a path.
             * @example acme/tiny-GGUF
             */
            repository?: string | null;
        };
        /** @description A workspace with the limits in force. */
        Workspace: {
            /** @example ws_01k0000000000000000000000 */
            id: string;
            /** Format: int64 */
            maxApiKeys: number;
            /** Format: int64 */
            monthlyTokens: number;
            name: string;
            organizationId: string;
            /** Format: int64 */
            requestsPerMinute: number;
            /**
             * Format: int32
             * @description The days for which responses are stored; null if they are not.
             */
            responseRetentionDays?: number | null;
            /** Format: int64 */
            tokensPerMinute: number;
            /**
             * Format: int64
             * @description Increases with every change. A change names the version that it read.
             */
            version: number;
        };
        /**
         * @description A change; absent members stay. A limit of null falls back: to the operator's value for administrators, to the
         *     configured default for the operator.
         */
        WorkspaceEdit: {
            /** Format: int64 */
            maxApiKeys?: number | null;
            /** Format: int64 */
            monthlyTokens?: number | null;
            name?: string;
            /** Format: int64 */
            requestsPerMinute?: number | null;
            /**
             * Format: int64
             * @description The days for which responses are stored; null stops storing them.
             */
            responseRetentionDays?: number | null;
            /** Format: int64 */
            tokensPerMinute?: number | null;
            /**
             * Format: int64
             * @description The version that was read.
             */
            version: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAudit: {
        parameters: {
            query?: {
                /** @description Such as `key.revoke`. */
                action?: string;
                /** @description The id of a user or of a key, `forebay admin` or `first start`. */
                actor?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description `jsonl`: all entries, one per line, newest first. */
                format?: "json" | "jsonl";
                /** @description From this time on. */
                from?: string;
                /** @description The size of the page. */
                limit?: number;
                /** @description The id of what was changed. */
                subject?: string;
                /** @description Before this time. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_AuditEntry"];
                    "application/x-ndjson": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postInvitationsAccept: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Acceptance"];
            };
        };
        responses: {
            200: {
                headers: {
                    /** @description the session */
                    "set-cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postInvitationsPreview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Link"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationPreview"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getNodes: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Node"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteNodesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                nodeId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorAliases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorAlias"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorAliases: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAlias"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorAlias"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `name_taken`, `catalogue_read_only` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOperatorAliasesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alias: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `entry_from_file`, `catalogue_read_only` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOperatorAliasesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alias: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AliasEdit"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorAlias"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `version_conflict` with `current`, `entry_from_file`, `catalogue_read_only` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorCatalogue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorCatalogue"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorErrors: {
        parameters: {
            query?: {
                /** @description From this time on, at most 31 days before `to`; default: a day before `to`. */
                from?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorErrorCount"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorFindings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorFindings"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorFlavorsFit: {
        parameters: {
            query: {
                /** @description `process` (default) or `kubernetes`. */
                driver?: string;
                /** @description GPUs of a replica; default 1. */
                gpuCount?: number;
                /** @example nvidia/h100-sxm-80gb */
                gpuType: string;
                /**
                 * @description The weights, whose size is compared with the memory of the GPUs: a path in the models folder, or an `hf://`
                 *     reference. Others are not compared.
                 */
                weights?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlavorFit"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorGpuTypes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorGpuType"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorGpus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorGpu"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorLogs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorLog"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorLogsById: {
        parameters: {
            query?: {
                /** @description How much of the end of the log is read; default 65536, with a search 4194304. */
                bytes?: number;
                /** @description Whether browsers save it as a file. */
                download?: boolean;
                /** @description The node of Forebay that has the log; default: the one that responds. */
                node?: string;
                /** @description Only lines with this text, in upper or lower case. */
                search?: string;
            };
            header?: never;
            path: {
                replicaId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `node_unresponsive`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorModel"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewModel"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorModel"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `name_taken`, `catalogue_read_only`, `content_key_missing` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorModelsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorModel"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOperatorModelsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `model_in_use`, `entry_from_file`, `catalogue_read_only` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOperatorModelsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelEdit"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorModel"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `version_conflict` with `current`, `entry_from_file`, `catalogue_read_only`, `content_key_missing` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorModelsPrefillQueue: {
        parameters: {
            query?: {
                /** @description From this time on; default: a day before `to`. */
                from?: string;
                /**
                 * @description `minute`, `hour`, `day`, or seconds that are whole minutes; default: by the length of the span. At most 1500
                 *     points.
                 * @example hour
                 */
                step?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorModelsPrices: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_PriceVersion"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorModelsTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                modelId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": null | components["schemas"]["TestRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelTest"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorNodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorNode"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorOrganizations: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OperatorOrganization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorOrganizationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrganization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOperatorOrganizationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Named"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorOrganization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorOrganizationsMembers: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Member"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putOperatorOrganizationsMembersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRole"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `last_admin` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOperatorOrganizationsMembersById: {
        parameters: {
            query?: {
                /** @description Whether the keys that the member created in the organization are revoked, too; by default they keep working. */
                revokeKeys?: boolean;
            };
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `last_admin` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorOrganizationsWorkspaces: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorUpstreamsProbe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProbeRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UpstreamProbe"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorWeights: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorWeights"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorWeightsDownloads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_WeightsDownload"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorWeightsDownloads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDownload"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WeightsDownload"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `no_disk_space`, `too_many_downloads` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `hub_unavailable` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOperatorWeightsDownloadsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                downloadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WeightsDownload"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOperatorWeightsDownloadsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                downloadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `download_active`, `weights_in_use` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `node_unresponsive`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorWeightsDownloadsCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                downloadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WeightsDownload"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `download_inactive` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `node_unresponsive`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorWeightsDownloadsResume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                downloadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WeightsDownload"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `download_active`, `download_inactive`, `too_many_downloads` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `node_unresponsive`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOperatorWeightsLookup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LookupRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WeightsLookup"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `hub_unavailable` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOperatorWorkspacesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspaceEdit"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `version_conflict`, with `current`; `content_key_missing` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizations: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Organization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOrganizations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Named"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOrganizationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `organization_not_empty` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOrganizationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Named"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Organization"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsAllotments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Allotment"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putOrganizationsAllotmentsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                gpuType: string;
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cap"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allotment"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsAudit: {
        parameters: {
            query?: {
                /** @description Such as `key.revoke`. */
                action?: string;
                /** @description The id of a user or of a key, `forebay admin` or `first start`. */
                actor?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description `jsonl`: all entries, one per line, newest first. */
                format?: "json" | "jsonl";
                /** @description From this time on. */
                from?: string;
                /** @description The size of the page. */
                limit?: number;
                /** @description The id of what was changed. */
                subject?: string;
                /** @description Before this time. */
                to?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_AuditEntry"];
                    "application/x-ndjson": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsGpuCosts: {
        parameters: {
            query?: {
                /** @description `csv`: comma-separated values with a header, without the total. */
                format?: "json" | "csv";
                /** @description From this time on; default: the start of the month. */
                from?: string;
                /**
                 * @description None or more of `endpoint`, `gpuType`, `workspace` and `day`, separated by commas.
                 * @example endpoint,gpuType
                 */
                groupBy?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GpuCosts"];
                    "text/csv": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsInvitations: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Invitation"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOrganizationsInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewInvitation"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOrganizationsInvitationsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                invitationId: string;
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsKeys: {
        parameters: {
            query?: {
                /** @description Only keys that this user created. */
                createdBy?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
                /** @description Only keys of users who have no access to the organization any more. */
                removedMembers?: boolean;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OrganizationKey"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postOrganizationsKeysRevoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Revocation"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsMembers: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Member"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteOrganizationsMembersById: {
        parameters: {
            query?: {
                /** @description Whether the keys that the member created in the organization are revoked, too; by default they keep working. */
                revokeKeys?: boolean;
            };
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `last_admin` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchOrganizationsMembersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                organizationId: string;
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRole"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `last_admin` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getOrganizationsReconciliation: {
        parameters: {
            query?: {
                /** @description From the hour of this time on; default: a day before `to`. */
                from?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path: {
                organizationId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getReconciliation: {
        parameters: {
            query?: {
                /** @description From the hour of this time on; default: a day before `to`. */
                from?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reconciliation"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Credentials"];
            };
        };
        responses: {
            200: {
                headers: {
                    /** @description the session */
                    "set-cookie"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putSessionContext: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Context"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionOidc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description to the provider, or back to the console with `error` */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessionOidcCallback: {
        parameters: {
            query?: {
                code?: string;
                error?: string;
                state?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description to the console, signed in, or with `error` */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putSessionPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPassword"];
            };
        };
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_OwnSession"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteSessionsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sessionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getSignInMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsers: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_User"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postUsers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `email_taken` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteUsersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchUsersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserEdit"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postUsersResetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": null | components["schemas"]["PasswordReset"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspaces: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWorkspaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWorkspace"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWorkspacesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `workspace_in_use` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    patchWorkspacesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspaceEdit"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `version_conflict`, with `current`; `content_key_missing` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesAliases: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Alias"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putWorkspacesAliasesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alias: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AliasTarget"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alias"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWorkspacesAliasesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alias: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesCosts: {
        parameters: {
            query?: {
                /** @description `csv`: comma-separated values with a header. */
                format?: "json" | "csv";
                /**
                 * @description A month in UTC that has begun; default: the current one.
                 * @example 2026-11
                 */
                month?: string;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Costs"];
                    "text/csv": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesInvoice: {
        parameters: {
            query?: {
                /** @description `csv`: comma-separated values with a header. */
                format?: "json" | "csv";
                /**
                 * @description A month in UTC that has begun; default: the current one.
                 * @example 2026-11
                 */
                month?: string;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invoice"];
                    "text/csv": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesKeys: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Key"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWorkspacesKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `key_limit_reached`, with `limit` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWorkspacesKeysById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `key_disabled` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWorkspacesKeysDisable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `key_revoked` or `key_expired` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWorkspacesKeysEnable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `key_revoked` or `key_expired` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    postWorkspacesKeysRotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                keyId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": null | components["schemas"]["Rotation"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `key_revoked`, `key_disabled` or `key_expired` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesMembers: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description The size of the page. */
                limit?: number;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Member"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    putWorkspacesMembersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteWorkspacesMembersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                userId: string;
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesMetrics: {
        parameters: {
            query: {
                /** @description Only errors with this code. */
                code?: string;
                /** @description Only calls to the dedicated endpoint of this name. */
                endpoint?: string;
                /** @description From this time on; default: a day before `to`. */
                from?: string;
                /** @description One line for each. `code` is for errors, `replica` for queues; metrics of endpoints have no model and no key. */
                groupBy?: "model" | "key" | "endpoint" | "replica" | "code";
                /** @description Only calls with this key, or of this user. */
                key?: string;
                /** @description The metric. */
                metric: "requests" | "errors" | "tokens" | "ttft" | "time_per_output_token" | "latency" | "in_flight" | "hold" | "queue" | "cold_starts" | "rate_limit_hits" | "gpu_busy" | "kv_cache" | "waiting" | "prefill_queue";
                /** @description Only calls to this model. */
                model?: string;
                /**
                 * @description `minute`, `hour`, `day`, or seconds that are whole minutes; default: by the length of the span. At most 1500
                 *     points.
                 * @example hour
                 */
                step?: string;
                /** @description Only calls through this API; metrics of endpoints have none. */
                surface?: "chat" | "messages" | "responses" | "completions" | "embeddings" | "rerank" | "score" | "batch";
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesQuota: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quota"];
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesRequests: {
        parameters: {
            query?: {
                /** @description Only errors with this code. */
                code?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                /** @description Only calls to the dedicated endpoint of this name. */
                endpoint?: string;
                /** @description `csv` or `jsonl`: all that match, newest first, at most 1,000,000. */
                format?: "json" | "csv" | "jsonl";
                /** @description From this time on. */
                from?: string;
                /** @description Only calls with this key, or of this user. */
                key?: string;
                /** @description The size of the page. */
                limit?: number;
                /** @description Only calls to this model. */
                model?: string;
                /**
                 * @description A status such as `429`, or all of a kind such as `5xx`.
                 * @example 5xx
                 */
                status?: string;
                /** @description Only calls through this API. */
                surface?: "chat" | "messages" | "responses" | "completions" | "embeddings" | "rerank" | "score" | "batch";
                /** @description Before this time. */
                to?: string;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List_Request"];
                    "application/x-ndjson": string;
                    "text/csv": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getWorkspacesUsage: {
        parameters: {
            query?: {
                /** @description `csv`: comma-separated values with a header, without the total. */
                format?: "json" | "csv";
                /** @description From this time on; default: the start of the month. */
                from?: string;
                /**
                 * @description None or more of `model`, `key`, `day` and `surface`, separated by commas.
                 * @example model,day
                 */
                groupBy?: string;
                /** @description Before this time; default: now. */
                to?: string;
            };
            header?: never;
            path: {
                workspaceId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                    "text/csv": string;
                };
            };
            /** @description `invalid_payload` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_signed_in`, `bad_credentials` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `csrf_failed`, `no_organization_context`, `not_a_member`, `admin_only`, `operator_only` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `request_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `invalid_value`, with `field` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `too_many_attempts`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    ready: {
        parameters: {
            query?: {
                /** @description parts that must be healthy, such as `engines,leader` */
                require?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description no part has this name */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description send no calls here; the body says which part is why */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    chatCompletions: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description OpenAI's chat completion, or its chunks as events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/event-stream": string;
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_value` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description the edge's timeout, not JSON */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    embeddings: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingsRequest"];
            };
        };
        responses: {
            /** @description OpenAI's list of embeddings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_value` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    listEndpoints: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before */
                cursor?: string;
                /** @description `key=value`, repeatable: all of them */
                label?: string[];
                /** @description default: 20 */
                limit?: number;
                model?: string;
                state?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointList"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    createEndpoint: {
        parameters: {
            query?: {
                /** @description `true`: make every check, change nothing */
                dryRun?: boolean;
            };
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEndpoint"];
            };
        };
        responses: {
            /** @description what a dry run would have created */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description it is being created; `Location` and `ETag` are set */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `REQUEST_TIMEOUT` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `PAYLOAD_TOO_LARGE` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `UNSUPPORTED_MEDIA_TYPE` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    getEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description `ETag` is its generation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    deleteEndpoint: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `REQUEST_TIMEOUT` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `PAYLOAD_TOO_LARGE` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `UNSUPPORTED_MEDIA_TYPE` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    changeEndpoint: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
                /** @description the `ETag` that was read */
                "If-Match"?: string | null;
            };
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndpointChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `REQUEST_TIMEOUT` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `PAYLOAD_TOO_LARGE` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `UNSUPPORTED_MEDIA_TYPE` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    listEndpointEvents: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before */
                cursor?: string;
                /** @description default: 20 */
                limit?: number;
                since?: string;
                type?: string;
            };
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    listEndpointReplicas: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplicaList"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    resumeEndpoint: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": null | components["schemas"]["EndpointScaling"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `REQUEST_TIMEOUT` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `PAYLOAD_TOO_LARGE` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `UNSUPPORTED_MEDIA_TYPE` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    suspendEndpoint: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Endpoint"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `REQUEST_TIMEOUT` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `GPU_ALLOTMENT_EXCEEDED`, `ENDPOINT_NAME_IN_USE`, `ENDPOINT_MODIFIED`, `ENDPOINT_DELETING`, `IDEMPOTENCY_IN_PROGRESS` */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `PAYLOAD_TOO_LARGE` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `UNSUPPORTED_MEDIA_TYPE` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    getEndpointUsage: {
        parameters: {
            query?: {
                /** @description default: the start of the month */
                from?: string;
                /** @description `hour` (default) or `day` */
                granularity?: string;
                /** @description cut at now */
                to?: string;
            };
            header?: never;
            path: {
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointUsage"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    listAllotments: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllotmentList"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    listFlavors: {
        parameters: {
            query: {
                /** @description a Model ID */
                model: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FlavorList"];
                };
            };
            /** @description `MALFORMED_JSON`, `MISSING_FIELD`, `INVALID_CURSOR` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"];
                };
            };
            /** @description `UNAUTHENTICATED`: every bad credential alike */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description sessions: `NO_ORGANIZATION_CONTEXT`, `NO_WORKSPACE_CONTEXT`, `NOT_A_MEMBER`, `WRONG_WORKSPACE`, `CSRF_FAILED` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `ENDPOINT_NOT_FOUND`, `MODEL_NOT_FOUND` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `OUT_OF_RANGE`, `INVALID_FORMAT` and others */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointFault"] | components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `RATE_LIMIT_EXCEEDED`, with Retry-After */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `HEADERS_TOO_LARGE` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `INTERNAL` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
            /** @description `DATABASE_UNAVAILABLE`, `GPU_ALLOTMENT_UNAVAILABLE`, with Retry-After */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointProblem"];
                };
            };
        };
    };
    createMessage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesRequest"];
            };
        };
        responses: {
            /** @description Anthropic's message, or its events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/event-stream": string;
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `invalid_value`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description the edge's timeout, not JSON */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    countMessageTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CountTokensRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    /** @description `true` if the engine cannot count */
                    "x-forebay-estimate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCount"];
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `invalid_value`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesError"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                modality?: string;
                provider?: string;
                status?: string;
            };
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    getModelByEncodedId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    getModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    createResponse: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            /** @description OpenAI's response, or its events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/event-stream": string;
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found`, `previous_response_not_found`, `response_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_value` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description the edge's timeout, not JSON */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getResponse: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAI's response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `response_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    deleteResponse: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedResponse"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `response_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    listResponseInputItems: {
        parameters: {
            query?: {
                /** @description the id of the item before the page */
                after?: string;
                /** @description 1 to 100; default: 20 */
                limit?: number;
                /** @description `asc` or `desc`, the default: newest first */
                order?: string;
            };
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResponseItemList"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `response_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_value` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
    countInputTokens: {
        parameters: {
            query?: never;
            header?: {
                /** @description the workspace a session acts in; default: its current one */
                "X-Workspace-Id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    /** @description `true` if the engine cannot count */
                    "x-forebay-estimate"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InputTokenCount"];
                };
            };
            /** @description `invalid_payload`, `missing_parameter`, `unsupported_parameter`, `context_length_exceeded` */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_api_key` */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description sessions: `no_organization_context`, `no_workspace_context`, `not_a_member`, `csrf_failed` */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_found`, `previous_response_not_found`, `response_not_found` */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `request_timeout`, `upstream_timeout` */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `payload_too_large` */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `unsupported_media_type` */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `invalid_value` */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `rate_limit_exceeded`, `quota_exceeded` */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `headers_too_large` */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `internal_error` */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `bad_gateway` */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
            /** @description `model_not_serving`, `request_quarantined`, `store_unavailable` */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InferenceError"];
                };
            };
        };
    };
}

/** Ranges of numbers, by schema and member. */
export const ranges = {
    EndpointScaling: {
        maxReplicas: [1, 64],
        minReplicas: [0, 64],
        replicas: [1, 64],
        scaleDownWindowSeconds: [0, 3600],
        scaleToZeroWindowSeconds: [60, 86400],
        scaleUpWindowSeconds: [0, 3600],
    },
} as const;
