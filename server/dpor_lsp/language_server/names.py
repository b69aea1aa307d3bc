"""The names of commands, fixed between the server and its clients."""

from __future__ import annotations

import enum


class ServerCommand(enum.Enum):
    """What `workspace/executeCommand` accepts, from any editor."""

    CHECK_MODEL = "dpor.server.checkModel"
    CHECK_FILE = "dpor.server.checkFile"
    CHECK_WORKSPACE = "dpor.server.checkWorkspace"
    CHECK_WITH = "dpor.server.checkWith"
    CANCEL = "dpor.server.cancel"
    SHOW_SCHEDULE = "dpor.server.showSchedule"
    PIN_TEST = "dpor.server.pinTest"
    IGNORE = "dpor.server.ignore"
    REPLAY = "dpor.server.replay"
    REPLAY_STEP = "dpor.server.replayStep"
    TRUST = "dpor.server.trust"


class ClientCommand(enum.Enum):
    """What a client may offer itself, and names in `clientCommands` if it does."""

    REPLAY_TRACE = "dpor.replayTrace"
    SHOW_TRACE = "dpor.showTrace"
    SHOW_SCHEDULE = "dpor.showSchedule"
