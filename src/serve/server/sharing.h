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
#include "serve/wire/message.h"

namespace forebay {

/// What the clients of a server have in common.
struct Sharing {
  std::shared_ptr<SharedBlocks> blocks = std::make_shared<SharedBlocks>();
  std::shared_ptr<TogetherRuns> together;
  SharedPrefixes prefixes;
  std::function<std::string()> status;  ///< JSON
  std::function<void()> stop;           ///< of the server
};

/// A client's feed, and its entry among the pipelines that are compared, for as long as this lives.
class OpenedFeed {
 public:
  /// What the client asks for, judged as by Loader::open(). `stop` ends the opening.
  static Result<std::unique_ptr<OpenedFeed>> open(const OpenRequest& request, Sharing& sharing, std::stop_token stop);
  ~OpenedFeed();
  OpenedFeed(const OpenedFeed&) = delete;
  OpenedFeed& operator=(const OpenedFeed&) = delete;

  Feed& feed() { return *feed_; }
  /// The pipeline, for people.
  const std::string& description() const { return text_; }

 private:
  OpenedFeed(Sharing& sharing, std::string text) : sharing_(sharing), text_(std::move(text)) {}

  Sharing& sharing_;
  const std::string text_;
  uint64_t entry_ = 0;
  std::unique_ptr<Feed> feed_;
};

}  // namespace forebay
