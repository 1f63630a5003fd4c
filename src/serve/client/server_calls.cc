#include "serve/client/server_calls.h"

#include <chrono>
#include <thread>

#include "serve/client/connection.h"
#include "serve/socket_path.h"

namespace forebay {

namespace {

Result<std::string> ask_server(const std::string& path, MessageType type) {
  FOREBAY_ASSIGN(FileDescriptor socket, connect_to(path));
  FOREBAY_ASSIGN(const std::shared_ptr<Connection> connection, Connection::open(std::move(socket)).connection);
  return connection->ask(type, "");
}

}  // namespace

Result<std::string> server_status(const std::string& path) { return ask_server(path, MessageType::kStatus); }

Status stop_server(const std::string& path, WaitClock& clock) {
  FOREBAY_ASSIGN(FileDescriptor socket, connect_to(path));
  const std::optional<PeerProcess> process = peer_process(socket.get());
  FOREBAY_ASSIGN(const std::shared_ptr<Connection> connection, Connection::open(std::move(socket)).connection);
  const Status stopped = connection->ask(MessageType::kStop, "").status();
  if (!stopped.ok() && !connection->lost()) return stopped;  // the server may exit before it has answered
  const auto deadline = clock.now() + std::chrono::seconds(30);
  while (clock.now() < deadline) {
    const Result<FileDescriptor> again = connect_to(path);
    if (!again.ok() && again.status().code() == Code::kNotFound) return {};
    // A client with share="auto" may have started another server by now.
    if (again.ok() && process && peer_process(again->get())->process != process->process) return {};
    std::this_thread::sleep_for(clock.begin_wait(std::chrono::milliseconds(10)));
  }
  return unavailable("the server was told to stop and has not gone within half a minute").with_key(path);
}

}  // namespace forebay
