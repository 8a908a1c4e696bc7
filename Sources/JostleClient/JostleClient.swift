// JostleClient
