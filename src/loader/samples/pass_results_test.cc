#include "loader/samples/pass_results.h"

#include <gtest/gtest.h>

#include "loader/error_log.h"

namespace forebay {
namespace {

constexpr auto kBad = static_cast<int64_t>(ErrorLog::kMaxEntries) + 500;

/// Chooses from a source with so many bad samples. The log of the loader gets them.
struct Member {
  void choose(PassResults& passes, const PassResults::Choose& choose) {
    const PassCallbacks callbacks{{}, [this](const RowError& error) {
                                    payloads += error.status.payload() != nullptr;
                                    return log.add(ErrorLog::kFilterPass, error);
                                  }};
    ASSERT_TRUE(passes.choose(0, Hash128{}, callbacks, choose).ok());
  }
  ErrorLog log{std::nullopt};
  int64_t payloads = 0;
};

TEST(PassResults, the_log_of_a_loader_that_comes_later_is_that_of_the_first) {
  PassResults passes;
  Member first, later;
  std::weak_ptr<void> exception;
  first.choose(passes, [&](const PassCallbacks& callbacks) -> Result<ChosenSamples> {
    for (int64_t id = 0; id < kBad; ++id) {
      const auto payload = std::make_shared<int>(0);
      if (id == 0) exception = payload;
      Status status(Code::kUser, "ValueError: " + std::to_string(id));
      status = std::move(status).with_key("a file").with_operator(".filter(f)").with_payload(payload);
      FOREBAY_RETURN_IF_ERROR(callbacks.on_bad_sample({.id = id, .status = std::move(status)}));
    }
    return ChosenSamples{};
  });
  EXPECT_EQ(first.payloads, kBad);
  EXPECT_TRUE(exception.expired()) << "nobody keeps the exceptions";
  later.choose(passes, [](const PassCallbacks&) -> Result<ChosenSamples> { return internal_error("a second pass"); });
  EXPECT_EQ(later.payloads, 0);
  EXPECT_EQ(later.log.total(), kBad);
  ASSERT_EQ(later.log.entries().size(), first.log.entries().size());
  for (size_t i = 0; i < first.log.entries().size(); ++i) {
    const ErrorEntry &a = first.log.entries()[i], &b = later.log.entries()[i];
    ASSERT_EQ(std::tie(a.sample, a.key, a.op, a.code, a.message, a.count),
              std::tie(b.sample, b.key, b.op, b.code, b.message, b.count));
  }
}

}  // namespace
}  // namespace forebay
