#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// Where servers of this user listen: "auto" and "" are the host's usual one, NAME is one of that name, and what has a slash is the path
/// of a socket. They lie in a folder that nobody else can enter: $XDG_RUNTIME_DIR/forebay, or else /tmp/forebay-UID, which is made
/// where it is not there.
///
/// InvalidArgument for a name that is none or a path that is too long; Unavailable where the folder is somebody else's or open to others.
Result<std::string> socket_path(std::string_view name);

/// The command that starts the server there, or with a verb asks it ("stop"): "forebay serve stop --socket NAME".
std::string serve_command(const std::string& path, std::string_view verb = "");

/// The lock beside a socket: who starts a server or ends one holds it. Waits for it, or not; nothing where somebody else has it.
std::optional<FileDescriptor> lock_socket(const std::string& path, bool wait);

/// A socket that listens there, in place of one that a server left that was killed. The caller holds the lock.
Result<FileDescriptor> listen_at(const std::string& path);
/// A connection to whoever listens there. NotFound where nobody does; Unavailable where it is another user's, or lets nobody in for some seconds.
Result<FileDescriptor> connect_to(const std::string& path);

/// The process and user at the other end, as the kernel says.
struct PeerProcess {
  int process = 0;
  unsigned user = 0;
};
std::optional<PeerProcess> peer_process(int socket);

}  // namespace forebay
