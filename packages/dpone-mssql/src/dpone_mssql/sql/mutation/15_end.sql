IF @@TRANCOUNT <> 1 OR XACT_STATE() <> 1 THROW {{transaction_lost}}, 1;
