#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// One end of a network whose messages call functions at the other end: questions, and their answers. Made by a module of its own
/// (src/ucx), which shares these classes with the rest and nothing else. Every method from any thread; what is called is called on the end's
/// only thread, and must not block.
class ActiveMessages {
 public:
  /// A question that came from another end. Answered once, from any thread, while the end is there; or never: then whoever asked hears nothing.
  class Question {
   public:
    virtual ~Question() = default;
    virtual std::span<const uint8_t> bytes() const = 0;
    /// `pieces` go one behind the other, and are kept until they have left.
    virtual void answer(uint64_t code, std::vector<Buffer> pieces) = 0;
  };

  struct Answer {
    uint64_t code = 0;
    Buffer bytes;  ///< aligned to 64 bytes
  };
  using OnAnswer = std::function<void(Result<Answer>)>;

  struct Asking {
    std::string card;  ///< of the end that is asked
    Buffer question;
    uint64_t most_bytes = 0;  ///< of the answer; one that is longer is not taken
    /// In all; and without any sign of the answer. An end that has not made itself heard since is asked over a new connection next time.
    std::chrono::milliseconds limit{0}, silence{0};
  };

  /// Answers what is under way with Cancelled; soon after, where this is destroyed inside of an answer. Calls for no question any more.
  virtual ~ActiveMessages() = default;
  /// How others reach this end, and before it a secret of 32 bytes: whoever does not know that is not answered. Bytes, no text, with a checksum.
  virtual const std::string& card() const = 0;
  /// Answers exactly once: Unavailable for an end that is not there or goes beyond the limits, Corrupt for an answer of more than `most_bytes` and for a card
  /// that is none.
  virtual void ask(Asking asking, OnAnswer on_answer) = 0;
};

/// Why a question was not taken.
enum class RefusedQuestion : uint8_t {
  kStranger,       ///< who asks does not know the secret, or asks at too great length
  kTooManyAskers,  ///< there are as many connections as may be
};

struct ActiveMessageOptions {
  std::string secret;   ///< of this end: 32 bytes
  std::string devices;  ///< of the network, comma-separated; empty: all
  std::function<void(std::unique_ptr<ActiveMessages::Question>)> on_question = nullptr;  ///< null: none are taken
  std::function<void(RefusedQuestion)> on_refused = nullptr;
  uint64_t most_question_bytes = 0;
  size_t most_connections = 512;          ///< that others have asked over
  std::chrono::milliseconds patience{0};  ///< for each MiB of an answer to leave
  /// A connection over which nothing has been asked for so long is closed; three times as long by who is asked, so that nobody asks over one that is being closed.
  std::chrono::milliseconds idle{30'000};
};

/// What the module gives out.
struct ActiveMessageModule {
  /// An end with a thread of its own.
  Result<std::unique_ptr<ActiveMessages>> (*open)(ActiveMessageOptions options) = nullptr;
};

}  // namespace forebay
