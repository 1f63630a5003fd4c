// Stops in the middle of an epoch and goes on with another batch size and another number of threads: the same samples in
// the same order as if nothing had happened.
//
// 02_resume FOLDER
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "forebay/forebay.h"

namespace fb = forebay;

template <typename T>
static T value_or_exit(fb::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
  std::exit(1);
}

static std::unique_ptr<fb::Loader> open(const std::string& folder, int64_t batch_size, int threads) {
  const auto pipeline = fb::images(folder).shuffle().decode_image().random_resized_crop(64).batch(batch_size);
  return value_or_exit(fb::Loader::open(pipeline, {.seed = 7, .resources = {.threads = threads}}));
}

/// The samples of the next `steps` batches, or of all that are left in the epoch.
static std::vector<int64_t> ids(fb::Loader& loader, int steps = -1) {
  std::vector<int64_t> seen;
  for (int step = 0; step != steps; ++step) {
    const auto batch = value_or_exit(loader.next());
    if (!batch) break;
    seen.insert(seen.end(), batch->ids.begin(), batch->ids.end());
  }
  return seen;
}

static void print(const char* title, const std::vector<int64_t>& numbers) {
  std::printf("%s", title);
  for (int64_t number : numbers) std::printf(" %lld", static_cast<long long>(number));
  std::printf("\n");
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 02_resume FOLDER\n"), 2;

  auto first = open(argv[1], 4, 2);
  std::vector<int64_t> before = ids(*first, 2);
  const std::string state = first->state();
  first->close();

  auto second = open(argv[1], 3, 1);
  if (fb::Status loaded = second->load_state(state); !loaded.ok()) {
    return std::fprintf(stderr, "%s\n", loaded.to_string().c_str()), 1;
  }
  const std::vector<int64_t> after = ids(*second);

  const std::vector<int64_t> uninterrupted = ids(*open(argv[1], 4, 2));

  print("before the stop", before);
  print("after it", after);
  before.insert(before.end(), after.begin(), after.end());
  std::printf("the same as without a stop: %s\n", before == uninterrupted ? "yes" : "no");
}
