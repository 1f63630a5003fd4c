#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// Kind of an error. The list is closed. Whether to retry, skip or give up follows from the code
/// and never from the text.
enum class Code : uint8_t {
  kOk,
  kInvalidArgument,  ///< the arguments make no sense; nothing was done
  kNotFound,         ///< a named object does not exist
  kCorrupt,          ///< an object's bytes violate its format
  kUnavailable,      ///< storage did not answer; a retry may help
  kUnsupported,      ///< valid data that is not handled, or beyond a limit such as `max_pixels`
  kOutOfBudget,      ///< more memory is needed than the budget can ever give
  kCancelled,        ///< a stop was requested
  kStateMismatch,    ///< a saved state belongs to other data, another pipeline or another seed
  kUser,             ///< an exception of the user's own function; `payload()` holds it
  kInternal,         ///< a defect of Forebay
};

/// Returns the code's name as users see it, such as "Corrupt".
std::string_view code_name(Code code);

/// Returns true for errors of the data, whose samples may be skipped or replaced, and false for
/// errors of the machine and transient errors.
bool is_data_error(Code code);

/// A range of bytes in an object.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Success, or an error that knows where it happened. A success costs one null pointer. Copies
/// share the immutable details.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  bool ok() const { return detail_ == nullptr; }
  Code code() const { return detail_ ? detail_->code : Code::kOk; }
  const std::string& message() const;

  /// These setters add where the error happened. Each leaves a value that an inner layer has set.
  Status&& with_key(std::string key) &&;
  Status&& with_operator(std::string name) &&;
  Status&& with_sample(int64_t id) &&;
  Status&& with_range(ByteRange range) &&;
  Status&& with_payload(std::shared_ptr<void> payload) &&;
  /// Adds how many bytes would have been enough (kOutOfBudget).
  Status&& with_bytes_needed(uint64_t bytes) &&;

  const std::string& key() const;
  const std::string& op() const;
  std::optional<int64_t> sample() const { return detail_ ? detail_->sample : std::nullopt; }
  std::optional<ByteRange> range() const { return detail_ ? detail_->range : std::nullopt; }
  uint64_t bytes_needed() const { return detail_ ? detail_->bytes_needed : 0; }
  const std::shared_ptr<void>& payload() const;

  /// Returns one line such as
  /// "Corrupt: photos/a.jpg: decode_image: no end-of-image marker (sample 17)".
  std::string to_string() const;

 private:
  struct Detail {
    Code code;
    std::string message, key, op;
    std::optional<int64_t> sample;
    std::optional<ByteRange> range;
    uint64_t bytes_needed = 0;
    std::shared_ptr<void> payload;
  };
  Detail& own();

  std::shared_ptr<const Detail> detail_;
};

inline Status invalid_argument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
inline Status not_found(std::string message) { return {Code::kNotFound, std::move(message)}; }
inline Status corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }
inline Status unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
inline Status unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }
inline Status cancelled(std::string message) { return {Code::kCancelled, std::move(message)}; }
inline Status internal_error(std::string message) { return {Code::kInternal, std::move(message)}; }
inline Status out_of_budget(std::string message, uint64_t bytes_needed) {
  return Status(Code::kOutOfBudget, std::move(message)).with_bytes_needed(bytes_needed);
}

}  // namespace forebay

/// Returns from the enclosing function with the status if it is an error.
#define FOREBAY_RETURN_IF_ERROR(expr)                                      \
  do {                                                                     \
    if (::forebay::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)
