#include <chrono>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/command_line.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "serve/client/server_calls.h"
#include "serve/server/server.h"
#include "serve/socket_path.h"

namespace forebay {
namespace {

struct ServeFlags {
  std::string what, socket = "auto";
  std::optional<uint64_t> memory;
  std::optional<int> threads, listen_at, linger_s;
  bool json = false;
};

int serve(const ServeFlags& flags, const std::string& path, const Console& console) {
  ServerOptions options;
  options.path = path;
  options.memory = flags.memory;
  options.threads = flags.threads;
  if (flags.listen_at) options.listening = FileDescriptor(*flags.listen_at);
  if (flags.linger_s) options.linger = std::chrono::seconds(*flags.linger_s);
  const Interrupt interrupt;
  Result<std::unique_ptr<Server>> server = Server::open(std::move(options));
  if (!server.ok()) return report_failure(server.status(), flags.json, console);
  // With --listen-at a client has started the server, which then has no terminal.
  if (!flags.listen_at)
    fmt::print(console.err, "forebay: serving at {}; Ctrl-C or '{}' ends it\n", path, serve_command(path, "stop"));
  const Status status = (*server)->run(interrupt.token());
  if (!status.ok()) return report_failure(status, flags.json, console);
  // The server ends cleanly either way, but a shell script has to see that it was interrupted.
  return interrupt.requested() ? kInterrupted : kDone;
}

void print_client(const SortedJson& client, const Console& console) {
  const auto text = [&](const char* name) { return client.value(name, std::string()); };
  fmt::print(console.out, "  process {} ({}), rank {} of {}: {} batches, {:.0f} samples/s, {} given, {} held\n",
             client.value("process", 0), text("program"), client.value("rank", 0), client.value("world_size", 1),
             client.value("batches", int64_t{0}), client.value("samples_per_second", 0.0),
             format_byte_size(client.value("bytes", uint64_t{0})),
             format_byte_size(client.value("held_bytes", uint64_t{0})));
  if (!text("shares").empty()) fmt::print(console.out, "    shares {}\n", text("shares"));
}

int status(const ServeFlags& flags, const std::string& path, const Console& console) {
  const Result<std::string> reply = server_status(path);
  if (!reply.ok()) return report_failure(reply.status(), flags.json, console);
  const SortedJson status = SortedJson::parse(*reply, nullptr, /*allow_exceptions=*/false);
  if (!status.is_object()) return report_failure(corrupt("the server's status is no JSON"), flags.json, console);
  if (flags.json) {
    print_json(status, console);
    return kDone;
  }
  // A server of another version may lack some keys, and a const object cannot be indexed by those.
  const SortedJson clients = status.value("clients", SortedJson::array());
  const SortedJson together = status.value("together", SortedJson::object());
  fmt::print(console.out, "{}: process {}, {} thread{}, {} of batches that clients can map\n", path,
             status.value("process", 0), status.value("threads", 0), status.value("threads", 0) == 1 ? "" : "s",
             format_byte_size(status.value("batch_memory_bytes", uint64_t{0})));
  fmt::print(console.out, "{} client{}\n", clients.size(), clients.size() == 1 ? "" : "s");
  for (const SortedJson& client : clients) print_client(client, console);
  fmt::print(console.out, "saved: {} batches of {} given together; {} samples or row groups found decoded\n",
             together.value("batches_saved", uint64_t{0}), together.value("batches_given", uint64_t{0}),
             status.value("cache_hits", uint64_t{0}));
  return kDone;
}

int stop(const ServeFlags& flags, const std::string& path, const Console& console) {
  const Status stopped = stop_server(path);
  if (!stopped.ok()) return report_failure(stopped, flags.json, console);
  if (flags.json)
    print_json({{"socket", path}, {"stopped", true}}, console);
  else
    fmt::print(console.out, "the server at {} has ended\n", path);
  return kDone;
}

}  // namespace

int serve_verb(const Arguments& arguments, const Console& console) {
  CommandLine line(
      "serve",
      "Shares one engine between the processes of this host: it makes the batches of fb.Loader(…, share=NAME). "
      "Runs until it is stopped.");
  ServeFlags flags;
  CLI::App& app = line.app();
  app.add_option("what", flags.what,
                 "status: print the clients and their speed; stop: end the server; default: start a server")
      ->check(CLI::IsMember({"status", "stop"}));
  app.add_option("--socket", flags.socket, "name of the server, as in share=NAME, or path of its socket")
      ->capture_default_str();
  line.add_bytes("--memory", flags.memory, "memory of all loaders together; default: a quarter of the machine's");
  line.add_number("--threads", flags.threads, 1, 1024, "number of cores; default: all that the process may use");
  line.add_number("--linger", flags.linger_s, 0, 1'000'000, "seconds after its last client when it goes")->group("");
  line.add_number("--listen-at", flags.listen_at, 3, 1024, "the descriptor of a socket that listens")->group("");
  if (const auto code = line.parse(arguments, console)) return *code;
  flags.json = line.json();
  const Result<std::string> path = socket_path(flags.socket);
  if (!path.ok()) return report_failure(path.status(), flags.json, console);
  if (flags.what == "status") return status(flags, *path, console);
  if (flags.what == "stop") return stop(flags, *path, console);
  return serve(flags, *path, console);
}

}  // namespace forebay
