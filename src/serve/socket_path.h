#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "store/local/local_file.h"

namespace forebay {

/// Returns the path of the socket of a server of this user. "auto" and "" name the usual server of
/// the host, and another name names a server of its own. A text with a slash is the path itself.
/// Sockets of names are in a folder that only this user can enter: $XDG_RUNTIME_DIR/forebay, or
/// else /tmp/forebay-UID. The folder is created if it does not exist.
///
/// Errors: InvalidArgument for an invalid name or a path that is too long; Unavailable if the
/// folder belongs to another user or others can enter it.
Result<std::string> socket_path(std::string_view name);

/// Returns the command that starts the server at this path, or with a verb the command that talks
/// to it, such as "forebay serve stop --socket NAME".
std::string serve_command(const std::string& path, std::string_view verb = "");

/// What lock_socket() does while another process holds the lock.
enum class LockMode : uint8_t {
  kWait,  ///< waits until the lock is free
  kTry,   ///< returns nothing at once
};
/// Takes the lock file beside a socket, which processes hold while they start or end a server. The
/// lock ends with the descriptor. Unavailable if the lock file cannot be opened.
Result<std::optional<FileDescriptor>> lock_socket(const std::string& path, LockMode mode);

/// Creates a listening socket and replaces one that a killed server has left. The caller holds the
/// lock.
Result<FileDescriptor> listen_at(const std::string& path);
/// Connects to the server at this path. NotFound if no server listens there; Unavailable if the
/// server belongs to another user, or has not accepted the connection within some seconds.
Result<FileDescriptor> connect_to(const std::string& path);

/// Process and user at the other end of a socket, as reported by the kernel.
struct PeerProcess {
  int process = 0;
  unsigned user = 0;
};
std::optional<PeerProcess> peer_process(int socket);
/// Returns the path at which the other end of a connection listens; empty if it has none.
std::string peer_path(int socket);

}  // namespace forebay
