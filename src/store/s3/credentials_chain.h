#pragma once

#include <memory>

#include "store/http/http_transport.h"
#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_options.h"

namespace forebay {

/// The first of: what the options say (keys, anonymous, profile), the environment's keys, the profile in the shared files, the
/// container's endpoint, the instance's metadata. `transport` carries the last two. InvalidArgument where something is given
/// that cannot be used, with the way out; that nothing is found at all is the answer of get().
Result<std::shared_ptr<CredentialsSource>> find_credentials(const S3Options& options, const AwsEnvironment& environment,
                                                            std::shared_ptr<HttpTransport> transport);

}  // namespace forebay
