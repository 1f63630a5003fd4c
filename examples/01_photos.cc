// A folder of photographs becomes batches.
//
// 01_photos FOLDER
#include <cstdio>

#include "forebay/forebay.h"

namespace fb = forebay;

static int fail(const fb::Status& status) {
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 01_photos FOLDER\n"), 2;

  const fb::Pipeline pipeline = fb::images(argv[1])
                                    .shuffle()
                                    .decode_image()
                                    .random_resized_crop(224)
                                    .random_flip()
                                    .normalize(fb::imagenet())
                                    .batch(8);
  std::printf("%s\n", pipeline.to_string().c_str());

  auto opened = fb::Loader::open(pipeline, {.seed = 7, .epochs = 1});
  if (!opened.ok()) return fail(opened.status());
  fb::Loader& loader = **opened;
  std::printf("%lld batches\n", static_cast<long long>(loader.batches_per_epoch()));

  while (true) {
    auto next = loader.next();
    if (!next.ok()) return fail(next.status());
    if (!next->has_value()) return 0;
    const fb::Batch& batch = **next;
    std::printf("step %lld image %s labels", static_cast<long long>(batch.step),
                batch.find("image")->values.shape.to_string().c_str());
    const int64_t* labels = batch.find("label")->values.data<int64_t>();
    for (int64_t i = 0; i < batch.size(); ++i) std::printf(" %lld", static_cast<long long>(labels[i]));
    std::printf("\n");
  }
}
