#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/memory/shared_blocks.h"
#include "serve/server/feed.h"
#include "serve/server/shared_prefix.h"
#include "serve/server/together.h"
#include "serve/server/user_code.h"
#include "serve/wire/message.h"

namespace forebay {

/// State that all clients of a server share. The server owns it, and it outlives the clients.
struct Sharing {
  std::shared_ptr<SharedBlocks> blocks = std::make_shared<SharedBlocks>();
  /// Memory in which loaders make their batches: `blocks` in a server. Null: memory of this process;
  /// the session then copies each batch to `blocks`.
  std::shared_ptr<BlockSource> batch_memory = {};
  std::shared_ptr<TogetherRuns> together;
  SharedPrefixes prefixes;
  LoadCode load_code = {};              ///< see ServerOptions::load_code
  std::function<std::string()> status;  ///< returns the server's status as JSON
  std::function<void()> stop;           ///< stops the server
};

/// Owns a client's feed, and the entry of its pipeline in SharedPrefixes.
class OpenedFeed {
 public:
  /// Opens the feed that the client requests. `stop` ends the opening. Errors: those of
  /// Loader::open().
  static Result<std::unique_ptr<OpenedFeed>> open(const OpenRequest& request, Sharing& sharing, std::stop_token stop);
  ~OpenedFeed();
  OpenedFeed(const OpenedFeed&) = delete;
  OpenedFeed& operator=(const OpenedFeed&) = delete;

  Feed& feed() { return *feed_; }
  /// Returns the pipeline as text for people.
  const std::string& description() const { return description_; }

 private:
  OpenedFeed(Sharing& sharing, std::string description) : sharing_(sharing), description_(std::move(description)) {}

  Sharing& sharing_;
  const std::string description_;
  uint64_t entry_ = 0;
  std::unique_ptr<Feed> feed_;
};

}  // namespace forebay
