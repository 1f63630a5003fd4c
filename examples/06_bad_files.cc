// A broken file among good ones: it is named, and what happens next is up to you. The number of steps stays the same.
//
// 06_bad_files FOLDER
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include <stdlib.h>  // mkdtemp

#include "forebay/forebay.h"

namespace fb = forebay;
namespace fs = std::filesystem;

/// A copy of the folder that goes away again, with its first picture cut off after 200 bytes.
class DamagedCopy {
 public:
  explicit DamagedCopy(const fs::path& folder) {
    std::string name = (fs::temp_directory_path() / "forebay_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    root_ = name;
    fs::copy(folder, root_, fs::copy_options::recursive);
    fs::path first;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (entry.path().extension() == ".jpg" && (first.empty() || entry.path() < first)) first = entry.path();
    }
    fs::resize_file(first, 200);
  }
  ~DamagedCopy() { fs::remove_all(root_); }
  DamagedCopy(const DamagedCopy&) = delete;
  DamagedCopy& operator=(const DamagedCopy&) = delete;
  std::string root() const { return root_.string(); }

 private:
  fs::path root_;
};

/// Goes through one epoch; the status of the first error, if the policy lets one through.
static fb::Status run(const fb::Pipeline& pipeline, fb::OnError policy, const char* name) {
  auto opened = fb::Loader::open(pipeline, {.epochs = 1, .errors = {.on_error = policy}});
  if (!opened.ok()) return opened.status();
  fb::Loader& loader = **opened;
  int64_t samples = 0;
  while (true) {
    auto batch = loader.next();
    if (!batch.ok()) return batch.status();
    if (!batch->has_value()) break;
    samples += (*batch)->size();
  }
  std::printf("%s: %lld samples in %lld steps, %zu error\n", name, static_cast<long long>(samples),
              static_cast<long long>(loader.batches_per_epoch()), loader.errors().size());
  return {};
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 06_bad_files FOLDER\n"), 2;

  const DamagedCopy photos(argv[1]);
  const auto pipeline = fb::images(photos.root()).decode_image().random_resized_crop(64).batch(4);

  const fb::Status raised = run(pipeline, fb::OnError::kRaise, "raise");
  std::printf("raise: %s in %s\n", fs::path(raised.key()).filename().c_str(), raised.op().c_str());
  for (auto [policy, name] : {std::pair{fb::OnError::kSkip, "skip"}, {fb::OnError::kReplace, "replace"}}) {
    if (fb::Status status = run(pipeline, policy, name); !status.ok()) {
      return std::fprintf(stderr, "%s\n", status.to_string().c_str()), 1;
    }
  }
}
